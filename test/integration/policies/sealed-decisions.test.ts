import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Client, TestAccount } from '../../support/client.ts';
import { decisionsScript, forged, verifyDecisions } from '../../support/decisions.ts';
import { createKey, type TestKey } from '../../support/key-tree.ts';
import { runCommand } from '../../support/process.ts';
import { startService, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// Nothing is signed by itself here: a test says when.
const never = { sealAt: '0 0 30 2 *', untilSealed: () => 42 };
const service = useService({ settings: { decisions: never } });
const { database } = service;
const { db } = database;

let client: Client;
let owner: TestAccount;
let friend: TestAccount;
let agent: TestKey;
let other: TestKey;

beforeAll(async () => {
  client = service.client;
  owner = await client.register();
  friend = await client.register();
  for (const { key } of [owner, friend])
    expect((await client.post('/sandbox/fund', { amount: 100 }, key)).status).toBe(200);
  agent = await keyWithPolicy(owner);
  other = await keyWithPolicy(owner);
  await pay(agent);
  await pay(other);
  await pay(await keyWithPolicy(friend), owner);
  await until('all to be chained', async () => (await db.query('SELECT FROM decisions_waiting')).rowCount === 0);
});

async function keyWithPolicy({ key }: TestAccount): Promise<TestKey> {
  const made = await createKey(client, key);
  const body = { budgets: [{ id: 'all', amount: 100, currency: 'USDC', window: 'day' }] };
  expect(await client.request('PUT', `/account/keys/${made.id}/policy`, { key, body })).toMatchObject({ status: 200 });
  return made;
}

async function pay({ apiKey }: TestKey, { handle } = friend): Promise<void> {
  const body = { to: handle, amount: 1, currency: 'USDC' };
  expect(await client.post('/agent/transfer', body, apiKey)).toMatchObject({ status: 200 });
}

const lastOf = async ({ apiKey }: TestKey) => (await client.get('/account/decisions', apiKey)).body.decisions[0];
const proofOf = async ({ id }: { id: string }, key = owner.key) => client.get(`/account/decisions/${id}/proof`, key);
const exported = async (key: string) => (await client.get('/account/decisions/export', key)).body;
const published = async () =>
  (await (await fetch(`${service.url}/.well-known/paywright-decisions.json`)).json()) as Published;

interface Published {
  readonly keys: readonly { readonly id: string; readonly until: string | null }[];
  readonly latest: { readonly root: object } | null;
  readonly anchors: readonly object[];
}

/** Signs a root and anchors it on a local chain, as the operator would. */
async function anchor(): Promise<void> {
  const command = await runCommand(['decisions', 'anchor'], { dataDir: '', env: { DATABASE_URL: database.url } });
  expect(command, command.output).toMatchObject({ code: 0 });
  const newest =
    'SELECT FROM decision_anchors WHERE root = (SELECT max(number) FROM decision_roots) AND tx_hash IS NOT NULL';
  await until('the root to be anchored', async () => (await db.query(newest)).rowCount === 1);
}

async function runScript(files: readonly unknown[], ...words: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'decisions-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const paths = files.map((_, index) => join(folder, `${index}.json`));
  for (const [index, file] of files.entries()) await writeFile(paths[index] as string, JSON.stringify(file));
  const node = promisify(execFile)(process.execPath, [fileURLToPath(decisionsScript), ...paths, ...words]);
  return node.then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );
}

test('before a root is signed a decision has no proof, and the export says so', async () => {
  const decision = await lastOf(agent);
  const refused = await proofOf(decision);
  expect(refused).toMatchObject({ status: 409, body: { code: 'decision_not_sealed' } });
  expect(refused.headers.get('retry-after')).toBe('42');
  expect(verifyDecisions(await exported(owner.key))).toMatchObject({ from: 1, to: 2, sealedTo: 0 });
  expect(await published()).toEqual({ keys: [], latest: null, anchors: [] });
});

test('a signed root covers every decision, and its anchor is on the chain', { timeout: 120_000 }, async () => {
  await anchor();
  const well = await published();
  const whole = await exported(owner.key);
  expect(verifyDecisions(whole, well)).toMatchObject({ from: 1, to: 2, sealedTo: 2, root: { number: '1', size: '2' } });
  expect(whole.seal.anchor).toMatchObject({ chain: 'MATIC', txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  expect(well.latest?.root).toEqual(whole.seal.root);
  expect(well.anchors).toEqual([
    {
      root: '1',
      ...whole.seal.anchor,
      data: whole.seal.root.root + (whole.seal.root.reservesRoot ?? '0'.repeat(64)),
      at: expect.any(String),
    },
  ]);
  const { chains } = (await client.get('/sandbox')).body;
  const { rpcUrl } = chains.find(({ id }: { id: string }) => id === 'MATIC');
  const verified = await runScript([whole, well], '--rpc', rpcUrl);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Verified: records 1 to 2 of PA-/) });
  const elsewhere = { ...whole.seal.anchor, txHash: `0x${'1'.repeat(64)}` };
  expect(
    await runScript([forged(whole, { seal: { ...whole.seal, anchor: elsewhere } })], '--rpc', rpcUrl),
  ).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('does not know the transaction'),
  });
});

test('a proof shows one record, and of the others of its root the hashes', async () => {
  const proof = (await proofOf(await lastOf(agent), agent.apiKey)).body;
  expect(verifyDecisions(proof, await published())).toMatchObject({ from: 1, to: 2, sealedTo: 2 });
  expect(proof.entries[0].record).toMatchObject({ key: agent.id, outcome: 'allow', seq: '1' });
  expect(Object.keys(proof.entries[1])).toEqual(['hash', 'head']);
  const later = (await proofOf(await lastOf(other), other.apiKey)).body;
  expect(verifyDecisions(later, await published())).toMatchObject({ from: 2, to: 2 });
});

test('a key exports the records of other keys as hashes', async () => {
  const own = await exported(agent.apiKey);
  expect(verifyDecisions(own, await published())).toMatchObject({ from: 1, to: 2, sealedTo: 2 });
  expect(own.entries.map((one: object) => 'record' in one)).toEqual([true, false]);
});

test('the next root continues the one before, and old proofs still hold with a new key', {
  timeout: 120_000,
}, async () => {
  const before = await exported(owner.key);
  const oldProof = (await proofOf(await lastOf(other))).body;
  await pay(agent);
  const replaced = await runCommand(['decisions', 'replace-key'], {
    dataDir: '',
    env: { DATABASE_URL: database.url },
  });
  expect(replaced, replaced.output).toMatchObject({ code: 0 });
  await until('the payment to be chained', async () => (await lastOf(agent)).seq === 3);
  await anchor();
  const well = await published();
  expect(well.keys).toHaveLength(2);
  expect(well.keys[0]?.until).not.toBeNull();
  expect(well.latest?.root).toMatchObject({ number: '2', keyId: well.keys[1]?.id });
  const after = await exported(owner.key);
  expect(verifyDecisions(after, well)).toMatchObject({ from: 1, to: 3, sealedTo: 3 });
  expect(after.seal.place).toBe(before.seal.place);
  for (const proof of [oldProof, before, (await proofOf(await lastOf(other))).body]) verifyDecisions(proof, well);
  const { rows } = await db.query<{ same: boolean }>(
    `SELECT b.signed::jsonb ->> 'previousRoot' = encode(sha256(convert_to(a.signed, 'UTF8')), 'hex') AS same
       FROM decision_roots a JOIN decision_roots b ON b.number = a.number + 1`,
  );
  expect(rows).toEqual([{ same: true }]);
});

test('the process writes what it has noted before it stops', { timeout: 120_000 }, async () => {
  const beside = await startService(database, {
    roles: { serve: true, work: false },
    settings: { decisions: { ...never, windowMs: 3_600_000 } },
  });
  const body = { to: friend.handle, amount: 1_000, currency: 'USDC' };
  for (let time = 0; time < 4; time++)
    expect(await beside.client.post('/agent/transfer', body, agent.apiKey)).toMatchObject({ status: 403 });
  expect(await lastOf(agent)).toMatchObject({ outcome: 'allow' });
  await beside.stop();
  expect(await lastOf(agent)).toMatchObject({ outcome: 'deny', code: 'budget_exceeded', count: 4 });
});
