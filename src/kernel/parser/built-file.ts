/** A child process runs the built file. When the sources run directly, as in tests, that file is in dist under the same name. */
export function builtFile(name: string, from: string): URL {
  const url = new URL(name, from);
  if (from.endsWith('.ts')) url.pathname = url.pathname.replace(/\/src\/(?!.*\/src\/)/, '/dist/src/');
  return url;
}
