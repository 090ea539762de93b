// Gets a checkout ready to run: the dependencies that the lockfile names, and a build of the sources as they are now.
// Plain Node without dependencies, because on a fresh clone there is nothing else yet.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const installStamp = join(root, 'node_modules', '.paywright-install');
const buildStamp = join(root, 'dist', '.built-from');
const oldestNode = [20, 19];

/** The npm package has no sources: it is built before it is packed, and npm installs what it depends on. */
export const isPackage = !existsSync(join(root, 'src'));

/** A failure whose message is the whole explanation: it is shown as one sentence, without a stack. */
export class Refusal extends Error {}

/** Installs and builds whatever is missing or out of date, or installs only; returns at once when nothing changed. */
export async function prepare({ say = (line) => process.stderr.write(`${line}\n`), only } = {}) {
  refuseOldNode();
  if (isPackage) return;
  const isReady = () => only === 'install' || isBuilt();
  if (isInstalled() && isReady()) return;
  await withLock(say, async () => {
    if (!isInstalled()) {
      say('Installing dependencies (the first start only, about a minute) …');
      await install();
    }
    if (!isReady()) {
      say('Building …');
      // A process of its own: the build ends esbuild, which may be translating sources for this process, as in the tests.
      await run(process.execPath, [join(root, 'scripts/build.mjs')], { failure: 'Nothing can run without a build.' });
    }
  });
}

/** Says what to run when something is missing or out of date, and does nothing about it. */
export function refuseUnprepared() {
  refuseOldNode();
  if (isPackage) return;
  const missing = [
    ...(isInstalled() ? [] : ['the dependencies are not those of the lockfile: run npm ci']),
    ...(isBuilt() ? [] : ['the build is not one of these sources: run npm run build']),
  ];
  if (missing.length === 0) return;
  throw new Refusal(
    `Live mode installs and builds nothing by itself:\n${missing.map((line) => `  - ${line}`).join('\n')}`,
  );
}

/** Records that node_modules matches the lockfile; called after every npm install of this project. */
export function markInstalled() {
  writeFileSync(installStamp, installFingerprint());
}

export async function build() {
  const from = sourceFingerprint();
  await compile('tsconfig.build.json', 'dist');
  // Loaded only now: before the dependencies are installed there is nothing to bundle with.
  const { bundle } = await import('./bundle.mjs');
  await bundle({ entry: join(root, 'dist/src/app/cli.js'), outdir: join(root, 'dist', 'bundled') });
  const { bundleUserCli } = await import('./user-cli.mjs');
  await bundleUserCli();
  markBuilt(from);
}

/** Records what dist was built from. */
export function markBuilt(from = sourceFingerprint()) {
  writeFileSync(buildStamp, from);
}

/** Compiles a project into an emptied folder, and puts what is not TypeScript beside it. */
export async function compile(project, output) {
  rmSync(join(root, output), { recursive: true, force: true });
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    failure: 'The build failed: the messages above say where.',
  });
  for (const file of sources().filter((path) => !path.endsWith('.ts'))) {
    const target = join(root, output, relative(root, file));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
  }
}

async function install() {
  const npm = process.env.npm_execpath;
  const [command, first] = npm ? [process.execPath, [npm]] : ['npm', []];
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run(command, [...first, 'ci', '--include=dev', '--include=optional', ...quietly], {
    failure: 'Installing dependencies failed: the messages above say why.',
  });
  // With install scripts switched off npm has not called this itself.
  const { afterInstall } = await import('./after-install.mjs');
  afterInstall();
}

function isInstalled() {
  return readIfThere(installStamp) === installFingerprint();
}

function isBuilt() {
  return readIfThere(buildStamp) === sourceFingerprint();
}

function installFingerprint() {
  const hash = createHash('sha256');
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, file)));
  return hash.update(`${process.platform} ${process.arch}`).digest('hex');
}

function sourceFingerprint() {
  const hash = createHash('sha256');
  // Some dependencies are taken into the build: another version of one is another build.
  const how = ['tsconfig.json', 'tsconfig.build.json', 'scripts/bundle.mjs', 'package-lock.json'].map((path) =>
    join(root, path),
  );
  for (const file of [...sources(), ...how]) {
    hash.update(relative(root, file)).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** Every file that ends up in the build, in a stable order. The sandbox may be missing: live mode does without it. */
function sources() {
  return ['src', 'sandbox']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((path) => join(folder, path)))
    .filter((path) => statSync(path).isFile() && !path.endsWith('.test.ts') && !path.endsWith('.md'))
    .sort();
}

/** Two copies started side by side from one clone must not install over each other. */
async function withLock(say, work) {
  const lock = join(root, '.prepare.lock');
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, identityOf(process.pid));
  let told = false;
  try {
    while (!linkIfFree(mine, lock)) {
      const identity = readIfThere(lock) ?? '';
      const holder = Number(identity.split(' ')[0]);
      if (identityOf(holder) !== identity) {
        rmSync(lock, { force: true });
        continue;
      }
      if (!told) say(`Waiting for process ${holder}, which is preparing this folder …`);
      told = true;
      await sleep(200);
    }
    try {
      await work();
    } finally {
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link is made with its content or not at all, so no process ever reads half a lock. */
function linkIfFree(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** A process by its number and its start, for numbers are given out again. */
function identityOf(pid) {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') {
      return `${pid} ${execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()}`;
    }
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch (error) {
    // It runs as another user: nothing more can be known of it.
    return error.code === 'EPERM' ? `${pid} of another user` : undefined;
  }
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs a program to its end. A signal to us is a signal to it. */
export function run(command, args, { failure, env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env });
    const stop = (signal) => child.kill(signal);
    for (const signal of stopSignals) process.on(signal, stop);
    child.on('close', () => {
      for (const signal of stopSignals) process.off(signal, stop);
    });
    child.on('error', (error) => reject(new Refusal(`${failure} (${error.message})`)));
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Refusal(failure))));
  });
}

/** Runs a command's main function and turns every failure into one sentence and exit code 1. */
export async function runOrRefuse(main) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  }
}

function explain(error) {
  if (error instanceof Refusal) return error.message;
  if (error.code === 'ENOSPC') return `The disk is full: there is no room left to write ${error.path ?? 'files'}.`;
  if (error.code === 'EACCES' || error.code === 'EROFS') return `No permission to write ${error.path ?? 'here'}.`;
  return error.stack ?? String(error);
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new Refusal(`Paywright needs Node ${oldestNode.join('.')} or newer; this is ${process.version}.`);
  }
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
