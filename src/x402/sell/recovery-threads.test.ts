import { afterAll, expect, it } from 'vitest';
import { createRecoveryThreads } from './recovery-threads.ts';

const question = { separator: '00'.repeat(32), struct: '00'.repeat(192), signature: `${'00'.repeat(64)}1b` };
const opened: { close(): Promise<void> }[] = [];
const open = (program: string, limitMs = 60_000) => {
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  const threads = createRecoveryThreads({ program: url, count: 1, limitMs });
  opened.push(threads);
  return threads;
};
afterAll(() => Promise.all(opened.map((threads) => threads.close())));

const listen = "import { parentPort } from 'node:worker_threads'; parentPort.on('message', (batch) =>";

it('answers each question with its own signer', async () => {
  const { recover } = open(`${listen} parentPort.postMessage(batch.map(({ signature }) => signature)));`);
  const asked = Array.from({ length: 100 }, (_, index) => `${index}`);
  expect(await Promise.all(asked.map((signature) => recover({ ...question, signature })))).toEqual(asked);
});

it('refuses the questions of a thread that dies, and asks a new one next', async () => {
  const { recover } = open(
    `${listen} batch[0].signature === 'die' ? process.exit(1) : parentPort.postMessage(batch.map(() => '0xab')));`,
  );
  expect(await recover(question)).toBe('0xab');
  const refused = { status: 503, extras: { headers: { 'Retry-After': '1' } } };
  await expect(recover({ ...question, signature: 'die' })).rejects.toMatchObject(refused);
  expect(await recover(question)).toBe('0xab');
});

it('ends a thread that never answers, and refuses its questions', async () => {
  const { recover } = open(`${listen} { for (;;); });`, 50);
  await expect(recover(question)).rejects.toMatchObject({ status: 503 });
});

it('refuses the questions of a thread that cannot start', async () => {
  const { recover } = open("throw new Error('broken')");
  await expect(recover(question)).rejects.toMatchObject({ status: 503 });
  await expect(recover(question)).rejects.toMatchObject({ status: 503 });
});
