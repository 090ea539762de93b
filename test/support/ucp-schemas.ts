import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** UCP's published schemas, where somebody has put them beside this repository. The newer ones are of three days before. */
const folder = fileURLToPath(new URL('../../../shared/ucp/', import.meta.url));
const folders = { '2026-04-08': '2026-04-08', '2026-08-25': '2026-08-22-main' } as const;

export const ucpSchemasAreHere = Object.values(folders).every((name) => existsSync(join(folder, name)));

type Version = keyof typeof folders;
type Operation = 'answer' | 'create' | 'update' | 'complete';
type Node = { [key: string]: unknown };

interface Composed {
  readonly properties?: Record<string, Node>;
  readonly $defs?: Record<string, Node>;
  readonly allOf?: readonly { readonly then?: { readonly properties?: Record<string, Node> } }[];
}

const profiles = {
  '2026-04-08': 'https://ucp.dev/discovery/profile_schema.json#/$defs/business_profile',
  '2026-08-25': 'https://ucp.dev/schemas/profile.json#/$defs/business_schema',
};
const errors = {
  '2026-04-08': 'https://ucp.dev/schemas/shopping/types/error_response.json',
  '2026-08-25': 'https://ucp.dev/schemas/common/types/error_response.json',
};
const checkout = 'https://ucp.dev/schemas/shopping/fulfillment.json#/$defs/dev.ucp.shopping.checkout';

const compiled = new Map<string, Ajv2020>();

/** What is wrong with a shop's profile, in words. Without the schemas nobody has an opinion. */
export const complaintsAboutProfile = (version: Version, profile: unknown) =>
  complaints(version, 'answer', profiles[version], profile);

/** What is wrong with the body of a request. */
export const complaintsAboutRequest = (version: Version, operation: Exclude<Operation, 'answer'>, body: unknown) =>
  complaints(version, operation, checkout, body);

/** What is wrong with an answer about a checkout: it shows one, or says why there is none. */
export function complaintsAboutCheckout(version: Version, answer: unknown): string[] {
  const status = (answer as { ucp?: { status?: string } }).ucp?.status;
  return complaints(version, 'answer', status === 'error' ? errors[version] : checkout, answer);
}

function complaints(version: Version, operation: Operation, schema: string, value: unknown): string[] {
  if (!ucpSchemasAreHere) return [];
  const key = `${version} ${operation}`;
  const ajv = compiled.get(key) ?? readSchemas(version, operation);
  compiled.set(key, ajv);
  const validate = ajv.getSchema(schema);
  if (validate === undefined) throw new Error(`there is no schema ${schema}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'it'} ${message}`);
}

function readSchemas(version: Version, operation: Operation): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  const root = join(folder, folders[version]);
  for (const part of ['schemas', 'discovery'].filter((name) => existsSync(join(root, name)))) {
    for (const file of readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.json')) continue;
      const read = JSON.parse(readFileSync(join(root, part, file), 'utf8')) as Node;
      // The profile's own id is not where its references start from.
      const schema = part === 'discovery' ? { ...read, $id: `https://ucp.dev/discovery/${file}` } : read;
      ajv.addSchema((operation === 'answer' ? schema : forRequest(schema, operation)) as Node);
    }
  }
  return ajv;
}

/** One schema describes requests and answers. Notes beside its properties say which of them a request has. */
function forRequest(schema: unknown, operation: Operation): unknown {
  if (Array.isArray(schema)) return schema.map((one) => forRequest(one, operation));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { properties, $defs, ...rest } = schema as Composed;
  const copy = eachOf(rest, operation);
  if ($defs !== undefined) copy['$defs'] = eachOf($defs, operation);
  if (properties === undefined) return copy;
  const rules = rulesOf(properties, operation);
  const named = (wanted: string) => rules.filter(({ rule }) => rule === wanted).map(({ name }) => name);
  const ruled = rules.filter(({ rule }) => rule !== undefined).map(({ name }) => name);
  const required = ((copy['required'] ?? []) as string[]).filter((name) => !ruled.includes(name));
  // What is left out in general may belong to a request of a certain kind after all.
  const excepted = (rest.allOf ?? []).flatMap((part) => rulesOf(part.then?.properties ?? {}, operation));
  const omitted = named('omit').filter((name) => !excepted.some((one) => one.name === name && one.rule !== 'omit'));
  const forbidden = Object.fromEntries(omitted.map((name) => [name, false]));
  return {
    ...copy,
    properties: { ...eachOf(properties, operation), ...forbidden },
    required: [...required, ...named('required')],
  };
}

function rulesOf(properties: Record<string, Node>, operation: Operation) {
  return Object.entries(properties).map(([name, { ucp_request: note }]) => {
    const rule = typeof note === 'object' && note !== null ? (note as Node)[operation] : note;
    return { name, rule };
  });
}

function eachOf(schemas: object, operation: Operation): Node {
  return Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, forRequest(one, operation)]));
}
