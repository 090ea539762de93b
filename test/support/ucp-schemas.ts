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

const profiles = {
  '2026-04-08': 'https://ucp.dev/schemas/discovery/profile.json#/$defs/business_profile',
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
  if (ajv.validate({ $ref: schema }, value)) return [];
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'it'} ${message}`);
}

function readSchemas(version: Version, operation: Operation): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false });
  addFormats.default(ajv);
  const root = join(folder, folders[version]);
  for (const part of ['schemas', 'discovery'].filter((name) => existsSync(join(root, name)))) {
    for (const file of readdirSync(join(root, part), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.json')) continue;
      const schema = JSON.parse(readFileSync(join(root, part, file), 'utf8')) as Node;
      ajv.addSchema((operation === 'answer' ? schema : forRequest(schema, operation)) as Node);
    }
  }
  return ajv;
}

/** One schema describes requests and answers. Notes beside its properties say which of them a request has. */
function forRequest(node: unknown, operation: Operation): unknown {
  if (Array.isArray(node)) return node.map((one) => forRequest(one, operation));
  if (typeof node !== 'object' || node === null) return node;
  const copy: Node = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, forRequest(value, operation)] as const),
  );
  const properties = (node as Node)['properties'];
  if (typeof properties !== 'object' || properties === null) return copy;
  let required = Array.isArray(copy['required']) ? (copy['required'] as string[]) : [];
  for (const [name, property] of Object.entries(properties as Record<string, Node>)) {
    const note = property['ucp_request'];
    const rule = typeof note === 'object' && note !== null ? (note as Node)[operation] : note;
    if (rule === undefined) continue;
    required = required.filter((one) => one !== name);
    if (rule === 'required') required = [...required, name];
    if (rule === 'omit') copy['properties'] = { ...(copy['properties'] as Node), [name]: false };
  }
  // Other parts of a composed schema may ask for what belongs to answers alone.
  return { ...copy, ...('required' in copy || required.length > 0 ? { required } : {}) };
}
