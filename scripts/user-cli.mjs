// The user's commands of `paywright` without preparation: they talk to a service over HTTP and need neither its build nor its dependencies.
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isPackage, root } from './prepare.mjs';

const bundled = join(root, 'dist', 'paywright-cli.mjs');
const inputs = [
  'src/cli',
  'src/kernel/text/parse-url.ts',
  'src/webhooks/sign-webhook.ts',
  'packages/sdk/src',
  'scripts/user-cli.mjs',
];

/** Undefined where it has to be built first and cannot be: nothing is installed, or live mode builds nothing. */
export async function loadUserCli() {
  if (isPackage) return import('../dist/src/cli/main.js');
  if (!isCurrent()) {
    if (process.env.PAYWRIGHT_MODE === 'live' || !existsSync(join(root, 'node_modules', 'esbuild'))) return undefined;
    await bundleUserCli();
  }
  return import('../dist/paywright-cli.mjs');
}

function isCurrent() {
  if (!existsSync(bundled)) return false;
  const builtAt = statSync(bundled).mtimeMs;
  return inputs.flatMap((path) => filesOf(join(root, path))).every((file) => statSync(file).mtimeMs <= builtAt);
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** One file, in some 50 ms. Two processes may write it at the same time. */
export async function bundleUserCli() {
  const { build, stop } = await import('esbuild');
  const fresh = `${bundled}.${process.pid}.mjs`;
  try {
    await build({
      entryPoints: [join(root, 'src', 'cli', 'main.ts')],
      outfile: fresh,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      logLevel: 'error',
      // Commander is CommonJS and requires modules of Node.
      banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    });
    renameSync(fresh, bundled);
  } finally {
    rmSync(fresh, { force: true });
    await stop();
  }
}
