// npm run bench: one table of measurements from one run. npm run bench -- --help lists the options.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compile, prepare, Refusal, root, run, runOrRefuse } from './prepare.mjs';

const options = process.argv.slice(2);

await runOrRefuse(async () => {
  await prepare();
  await compile('tsconfig.bench.json', 'dist-bench');
  const other = await buildOther();
  const own = ['--commit', commitOf('HEAD') ?? 'unknown', '--history', join(root, 'bench/history.jsonl')];
  try {
    await run(process.execPath, [join(root, 'dist-bench/bench/main.js'), ...options, ...own, ...other.options], {
      failure: 'The benchmark failed.',
    });
  } finally {
    other.remove();
  }
});

/** The version that --against names, built in a folder of its own, which is removed at the end. */
async function buildOther() {
  const place = options.findIndex((option) => option === '--against' || option.startsWith('--against='));
  if (place === -1) return { options: [], remove() {} };
  const name = options[place].split('=')[1] ?? options[place + 1] ?? '';
  const commit = commitOf(name);
  if (commit === undefined) throw new Refusal(`There is no commit "${name}".`);
  const folder = mkdtempSync(join(tmpdir(), 'paywright-against-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.stderr.write(`Building ${commit} …\n`);
  try {
    execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C '${folder}'`], { cwd: root });
    const isSame = readFileSync(join(folder, 'package-lock.json')).equals(
      readFileSync(join(root, 'package-lock.json')),
    );
    if (isSame) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    else execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, stdio: 'inherit' });
    const itsOwn = await import(pathToFileURL(join(folder, 'scripts/prepare.mjs')).href);
    await itsOwn.compile('tsconfig.bench.json', 'dist-bench');
  } catch (error) {
    remove();
    throw error;
  }
  return { options: ['--against-tree', folder], remove };
}

function commitOf(name) {
  try {
    const found = execFileSync('git', ['rev-parse', '--verify', '--short=10', `${name}^{commit}`], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return found.toString().trim();
  } catch {
    return undefined;
  }
}
