import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import type { Exchange } from './emulator.ts';

/** Circle's published description of its API, where somebody has put it beside this repository. */
const folder = fileURLToPath(new URL('../../../../shared/circle/', import.meta.url));
const files = ['developer-controlled-wallets.yaml', 'configurations.yaml'];

export const publishedIsHere = files.every((file) => existsSync(`${folder}${file}`));

export interface PublishedDescription {
  /** What is wrong with an exchange, in words; nothing when it is as published. */
  complaints(exchange: Exchange): string[];
}

type Node = Readonly<Record<string, unknown>>;

/** Answers that the description says nothing about, although every API has them. */
const undescribed = (status: number) => status === 403 || status === 429 || status >= 500;

export function readPublished(): PublishedDescription {
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  const documents = files.map((file) => {
    const document = parse(readFileSync(`${folder}${file}`, 'utf8')) as Node;
    ajv.addSchema(document, file);
    return { file, document };
  });
  const compiled = new Map<string, ValidateFunction>();

  /** Follows references, and remembers where it got to. */
  function walk(file: string, document: Node, pointer: readonly string[]): { node: Node; pointer: string } | undefined {
    let at: readonly string[] = [];
    let node: unknown = document;
    for (const step of pointer) {
      node = (node as Node)[step];
      at = [...at, step];
      while (typeof (node as Node | undefined)?.['$ref'] === 'string') {
        at = String((node as Node)['$ref'])
          .replace('#/', '')
          .split('/');
        node = at.reduce<unknown>((inner, name) => (inner as Node)[name], document);
      }
      if (node === undefined) return undefined;
    }
    const escaped = at.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
    return { node: node as Node, pointer: `${file}#/${escaped.join('/')}` };
  }

  function compare(pointer: string, value: unknown): string[] {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the body'} ${message}`);
  }

  function complaints(exchange: Exchange): string[] {
    const { method, operation, path } = exchange;
    const name = `${method} ${path}`;
    const home = documents.find(({ document }) => (document['paths'] as Node)[operation ?? ''] !== undefined);
    if (operation === undefined || home === undefined) return [`${name} is not published`];
    const { file, document } = home;
    const start = ['paths', operation, method.toLowerCase()];
    if (walk(file, document, start) === undefined) return [`${name} is not published`];

    const wrong: string[] = [];
    const asked = walk(file, document, [...start, 'requestBody', 'content', 'application/json', 'schema']);
    if (asked === undefined && exchange.request !== undefined) wrong.push('there is a body where none is published');
    if (asked !== undefined) {
      wrong.push(...compare(asked.pointer, exchange.request));
      const published = Object.keys((asked.node['properties'] ?? {}) as Node);
      for (const field of Object.keys((exchange.request ?? {}) as Node)) {
        if (!published.includes(field)) wrong.push(`the field ${field} is not published`);
      }
    }
    wrong.push(...complaintsAboutQuery(file, document, start, exchange.query));
    const { answer } = exchange;
    if (answer !== undefined && !undescribed(answer.status)) {
      const told = walk(file, document, [
        ...start,
        'responses',
        String(answer.status),
        'content',
        'application/json',
        'schema',
      ]);
      if (told === undefined) wrong.push(`the status ${answer.status} is not published`);
      else wrong.push(...compare(told.pointer, withoutStuck(answer.body)));
    }
    return wrong.map((complaint) => `${name} → ${answer?.status ?? 'no answer'}: ${complaint}`);
  }

  function complaintsAboutQuery(
    file: string,
    document: Node,
    start: readonly string[],
    query: URLSearchParams,
  ): string[] {
    const count =
      (walk(file, document, [...start, 'parameters'])?.node as unknown as unknown[] | undefined)?.length ?? 0;
    const published = new Map<unknown, string>();
    for (let place = 0; place < count; place++) {
      const at = [...start, 'parameters', String(place)];
      const { in: where, name } = walk(file, document, at)?.node ?? {};
      const schema = walk(file, document, [...at, 'schema']);
      if (where === 'query' && schema !== undefined) published.set(name, schema.pointer);
    }
    return Array.from(query, ([name, text]) => {
      const pointer = published.get(name);
      if (pointer === undefined) return [`the parameter ${name} is not published`];
      // In an address everything is text; what is meant as a number or as true is read as such.
      const readings = [text, ...(/^(?:\d+|true|false)$/.test(text) ? [JSON.parse(text) as unknown] : [])];
      const complaints = readings.map((reading) => compare(pointer, reading));
      return complaints.some((found) => found.length === 0)
        ? []
        : complaints.flat().map((found) => `${name}: ${found}`);
    }).flat();
  }

  return { complaints };
}

/** Circle's guides and its SDK know the state STUCK; only the description forgot it. */
function withoutStuck(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body).replaceAll('"state":"STUCK"', '"state":"SENT"'));
}

/** Complains about everything in a run that is not as Circle published it. Without the description it has no opinion. */
export function complaintsAbout(exchanges: readonly Exchange[]): string[] {
  if (!publishedIsHere) return [];
  const published = readPublished();
  return [...new Set(exchanges.flatMap((exchange) => published.complaints(exchange)))];
}
