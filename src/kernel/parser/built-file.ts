/**
 * A process runs what was built. Where the sources themselves run, as in the tests, that lies in dist, under the same name.
 */
export function builtFile(name: string, from: string): URL {
  const url = new URL(name, from);
  if (from.endsWith('.ts')) url.pathname = url.pathname.replace(/\/src\/(?!.*\/src\/)/, '/dist/src/');
  return url;
}
