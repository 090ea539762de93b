// node --import: lets the MCP conformance suites start, whose other commands import what is not here.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const absent = 'throw new Error("This part of the suite cannot run here.");';
const modules = {
  // Node 20 has no globSync.
  fs: `export * from 'node:fs'; export { default } from 'node:fs'; export function globSync() { ${absent} }`,
  // The client of GitHub's API, which is not installed.
  '@octokit/rest': `export class Octokit { constructor() { ${absent} } }`,
};

export function resolve(specifier, context, next) {
  if (!Object.hasOwn(modules, specifier)) return next(specifier, context);
  return { url: `data:text/javascript,${encodeURIComponent(modules[specifier])}`, shortCircuit: true };
}
