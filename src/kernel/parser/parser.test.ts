import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parserProgram, useParser } from '../../../test/support/parser.ts';
import { until } from '../../../test/support/until.ts';
import { createLogger, type Logger } from '../log/logger.ts';
import { createParser, type ParserError } from './parser.ts';
import { type Task, taskOf } from './task.ts';

const program = new URL('../../../test/support/unruly-parser.mjs', import.meta.url);
const echo = taskOf<(input: unknown) => unknown>('echo');
const processOf = taskOf<(input: undefined) => number>('processOf');
const task = (name: string): Task<undefined, unknown> => ({ name });
const kindOf = (running: Promise<unknown>) => running.then(String, ({ kind }: ParserError) => kind);

/** Soon over, for what never ends. */
const quick = { program, mostMs: 400, mostMegabytes: 48 };

describe('a task', () => {
  const hasty = useParser(quick);
  // Whatever ends by itself, or by its memory, does so on a busy machine too.
  const parser = useParser({ ...quick, mostMs: 60_000 });

  it('gets what was sent, and its output comes back', async () => {
    const input = { bytes: Buffer.from('bytes'), atomic: 10n ** 20n, none: undefined };
    expect(await parser.run(echo, input)).toEqual(input);
  });

  it.each([
    ['memory', 'too_large'],
    ['deep', 'failed'],
    ['fail', 'failed'],
    ['end', 'failed'],
    ['constructor', 'failed'],
    ['no such task', 'failed'],
  ])('that does %s ends as %s, and the next one is done', async (name, kind) => {
    expect(await kindOf(parser.run(task(name), undefined))).toBe(kind);
    expect(await parser.run(echo, 'next')).toBe('next');
  });

  it.each(['forever', 'backtrack'])('that does %s ends as too_slow, and the next one is done', async (name) => {
    expect(await kindOf(hasty.run(task(name), undefined))).toBe('too_slow');
    expect(await hasty.run(echo, 'next')).toBe('next');
  });

  it('knows no settings and no secrets', async () => {
    const [environment, args] = (await parser.run(task('secrets'), undefined)) as [object, readonly string[]];
    expect(environment).toEqual({});
    expect(args).toEqual([process.execPath, fileURLToPath(program)]);
  });
});

describe('others', () => {
  it('are done by another process while one takes for ever', async () => {
    const parser = createParser({ program, logger: createLogger('silent'), mostMs: 60_000 });
    const endless = kindOf(parser.run(task('forever'), undefined));
    const first = await parser.run(processOf, undefined);
    for (let count = 0; count < 100; count++) expect(await parser.run(processOf, undefined)).toBe(first);
    await parser.close();
    expect(await endless).toBe('given_up');
  });

  it('that wait are done once those before them are ended', async () => {
    const parser = createParser({ program, logger: createLogger('silent'), mostMs: 300, processes: 1 });
    const endless = [1, 2, 3].map(() => kindOf(parser.run(task('forever'), undefined)));
    expect(await parser.run(echo, 'after all')).toBe('after all');
    expect(await Promise.all(endless)).toEqual(['too_slow', 'too_slow', 'too_slow']);
    await parser.close();
  });
});

describe('holders', () => {
  it('that have used least lately are served first, and orders before them', async () => {
    const parser = createParser({ program, logger: createLogger('silent'), mostMs: 300, processes: 1 });
    expect(await kindOf(parser.run(task('forever'), undefined, { holder: 'greedy' }))).toBe('too_slow');
    const first = parser.run(echo, 'first');
    const done: unknown[] = [];
    const run = (what: string, holder?: string) =>
      parser.run(echo, what, { holder }).then((output) => done.push(output));
    await Promise.all([run('greedy', 'greedy'), run('ada', 'ada'), run('an order'), run('another order'), first]);
    expect(done).toEqual(['an order', 'another order', 'ada', 'greedy']);
    await parser.close();
  });

  it('leave a process to others, however much each of them asks for', async () => {
    const parser = createParser({ program, logger: createLogger('silent'), mostMs: 500 });
    const greedy = ['one', 'two', 'three'].flatMap((holder) =>
      Array.from({ length: 3 }, () => kindOf(parser.run(task('forever'), undefined, { holder }))),
    );
    // By then two of them have used much.
    await Promise.race(greedy);
    for (let count = 0; count < 20; count++) expect(await parser.run(echo, count, { holder: 'ada' })).toBe(count);
    await parser.close();
    const kinds = await Promise.all(greedy);
    expect(kinds.filter((kind) => kind === 'too_slow').length).toBeLessThan(9);
  });
});

describe('limits', () => {
  const parser = useParser({ ...quick, processes: 1 });

  it('hold for all tasks of one purpose together', async () => {
    const allowance = { leftMs: 250 };
    expect(await parser.run(echo, 1, { allowance })).toBe(1);
    expect(await kindOf(parser.run(task('forever'), undefined, { allowance }))).toBe('too_slow');
    expect(allowance.leftMs).toBeLessThan(1);
    expect(await kindOf(parser.run(echo, 1, { allowance }))).toBe('too_slow');
    expect(await parser.run(echo, 1, { allowance: { leftMs: 10_000 } })).toBe(1);
  });

  it('hold for how many wait: more are refused, and nobody is forgotten', async () => {
    const endless = kindOf(parser.run(task('forever'), undefined));
    const kinds = await Promise.all(Array.from({ length: 1_100 }, (_, index) => kindOf(parser.run(echo, index))));
    expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(100);
    expect(kinds.slice(0, 1_000)).toEqual(Array.from({ length: 1_000 }, (_, index) => String(index)));
    expect(await endless).toBe('too_slow');
  });

  it('end a task that is not waited for any more, before it is begun', async () => {
    const endless = kindOf(parser.run(task('forever'), undefined));
    const over = new AbortController();
    const waiting = kindOf(parser.run(echo, 'never', { signal: over.signal }));
    over.abort();
    expect(await waiting).toBe('given_up');
    expect(await kindOf(parser.run(echo, 'never', { signal: over.signal }))).toBe('given_up');
    expect(await endless).toBe('too_slow');
  });
});

it('a task whose process is killed is done by another one', async () => {
  const begun = join(mkdtempSync(join(tmpdir(), 'paywright-test-')), 'begun');
  const parser = createParser({ program, logger: createLogger('silent'), mostMs: 60_000, processes: 1 });
  const pid = await parser.run(processOf, undefined);
  const waiting = parser.run(taskOf<(file: string) => number>('wait'), begun);
  await until('it to be begun', async () => existsSync(begun));
  process.kill(pid, 'SIGKILL');
  expect(await waiting).not.toBe(pid);
  await parser.close();
});

it('so many bytes may wait, and no more', async () => {
  const parser = createParser({ program, logger: createLogger('silent'), mostMs: 60_000, processes: 1 });
  const endless = kindOf(parser.run(task('forever'), undefined));
  const kinds = Array.from({ length: 17 }, () => kindOf(parser.run(echo, { bytes: Buffer.alloc(4_000_000) })));
  expect(await Promise.race(kinds)).toBe('busy');
  await parser.close();
  expect((await Promise.all(kinds)).filter((kind) => kind === 'given_up')).toHaveLength(16);
  expect(await endless).toBe('given_up');
});

it('a program that is not there fails what was asked of it, and the log says so', async () => {
  const lines: unknown[] = [];
  const logger = { error: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  const parser = createParser({ program: new URL('./nowhere.js', parserProgram), logger });
  expect(await kindOf(parser.run(echo, 1))).toBe('failed');
  expect(lines).toEqual([
    { code: 1, signal: null, task: 'echo' },
    { code: 1, signal: null, task: 'echo' },
  ]);
  await parser.close();
  expect(await kindOf(parser.run(echo, 1))).toBe('given_up');
});
