// node --import: lets a program start that imports fs.globSync, which Node 20 does not have. The program must not call it.
import * as fs from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread && !('globSync' in fs)) register(import.meta.url);

const withGlob = `export * from 'node:fs';
export { default } from 'node:fs';
export function globSync() {
  throw new Error('This Node.js has no fs.globSync.');
}`;

export function resolve(specifier, context, next) {
  if (specifier !== 'fs') return next(specifier, context);
  return { url: `data:text/javascript,${encodeURIComponent(withGlob)}`, shortCircuit: true };
}
