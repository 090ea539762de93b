import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { QueryResult, QueryResultRow } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase, type Queryable } from '../../../../src/kernel/db/database.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { createIris, pauseRequests, takeTurn } from '../../../../src/payments/bridge/adapters/iris/iris.ts';
import type { Attestations } from '../../../../src/payments/bridge/attestations.ts';
import { useDatabase } from '../../../support/database.ts';
import { freePort } from '../../../support/process.ts';
import { until } from '../../../support/until.ts';

const database = useDatabase();
const { db } = database;

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

const asked: string[] = [];
let behave: Behaviour;
let server: Server;
let url: string;
let iris: Attestations;
let hasty: Attestations;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    behave(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  iris = createIris({ db, url, timeoutMs: 60_000 });
  hasty = createIris({ db, url, timeoutMs: 1_500 });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(async () => {
  asked.length = 0;
  await everybodyMayAsk();
});

async function everybodyMayAsk(): Promise<void> {
  await db.query('UPDATE attestation_turns SET next_at = clock_timestamp()');
}

/** For how long nobody may ask, in milliseconds. */
async function leftAloneFor(): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    'SELECT (extract(epoch FROM next_at - clock_timestamp()) * 1000)::float8 AS ms FROM attestation_turns',
  );
  return rows[0]?.ms ?? 0;
}

const burnt = { domain: 7, txHash: `0x${'12'.repeat(32)}` } as const;

/** Asks as soon as there is a turn: whoever is slow on a busy machine lets one go by. */
const find = (by = iris) =>
  until('a turn', async () => {
    const found = await by.find(burnt);
    return found.state !== 'not_asked' && found;
  });

function answers(status: number, body: unknown, headers: Record<string, string> = {}): void {
  behave = (_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

const complete = { message: '0x00aa', attestation: '0x11bb', status: 'complete', eventNonce: '0x01', cctpVersion: 2 };
const pending = { message: '0x', attestation: 'PENDING', status: 'pending_confirmations', delayReason: null };

describe('what the service answers', () => {
  test('is asked for by domain and transaction', async () => {
    answers(200, { messages: [complete] });
    await find();
    expect(asked).toEqual([`/v2/messages/7?transactionHash=${burnt.txHash}`]);
  });

  const { message, attestation } = complete;
  test.each([
    ['nothing known', 404, { code: 404, message: 'not found' }, { state: 'unknown' }],
    ['complete', 200, { messages: [complete] }, { state: 'known', attested: [{ message, attestation }] }],
    ['pending', 200, { messages: [pending] }, { state: 'known', attested: [], pending: 'pending confirmations' }],
    [
      'pending for a reason',
      200,
      { messages: [{ ...pending, delayReason: 'insufficient_fee' }] },
      { state: 'known', attested: [], pending: 'insufficient fee' },
    ],
    [
      'a reason that is not one',
      200,
      { messages: [{ ...pending, delayReason: `<b>\n${'x'.repeat(500)}` }] },
      { state: 'known', attested: [], pending: `b${'x'.repeat(59)}` },
    ],
    [
      'several',
      200,
      { messages: [pending, complete, complete] },
      {
        state: 'known',
        attested: [
          { message, attestation },
          { message, attestation },
        ],
        pending: 'pending confirmations',
      },
    ],
    ['none', 200, { messages: [] }, { state: 'known', attested: [] }],
    [
      'complete without signatures',
      200,
      { messages: [{ ...complete, attestation: 'PENDING' }] },
      { state: 'known', attested: [], pending: 'complete' },
    ],
    [
      'complete without a message',
      200,
      { messages: [{ ...complete, message: null }] },
      { state: 'known', attested: [], pending: 'complete' },
    ],
  ])('%s', async (_what, status, body, expected) => {
    answers(status, body);
    expect(await find()).toEqual(expected);
  });
});

describe('what is no answer', () => {
  async function expectNone(by: Attestations, misbehave: Behaviour, expected: RegExp): Promise<void> {
    behave = misbehave;
    await expect(find(by)).rejects.toThrow(expected);
    expect(asked).toHaveLength(1);
    // It is the service's trouble and not its wish: the next one may ask.
    expect(await leftAloneFor()).toBeLessThan(2_000);
    answers(200, { messages: [complete] });
    expect(await find()).toMatchObject({ state: 'known' });
  }

  test.each<[string, Behaviour, RegExp]>([
    ['500', (_, response) => void response.writeHead(500).end('oops'), /answers 500/],
    ['204', (_, response) => void response.writeHead(204).end(), /answers 204/],
    ['no JSON', (_, response) => void response.end('<html>'), /unreadable answer/],
    ['half of it', (_, response) => void response.end('{"messages":[{"message":"0x'), /unreadable answer/],
    ['another shape', (_, response) => void response.end('{"data":{}}'), /unreadable answer/],
    ['no list', (_, response) => void response.end('{"messages":{"0":{}}}'), /unreadable answer/],
    ['a number as a message', (_, response) => void response.end(messagesWith({ message: 7 })), /unreadable answer/],
    ['what is no hex', (_, response) => void response.end(messagesWith({ message: '0xzz' })), /unreadable answer/],
    ['half a byte', (_, response) => void response.end(messagesWith({ message: '0x123' })), /unreadable answer/],
    [
      'another place',
      (request, response) => void response.writeHead(307, { location: `${request.url}&again=yes` }).end(),
      /answers 307/,
    ],
    ['a lost connection', (request) => void request.socket.destroy(), /does not answer/],
    [
      'a connection that is lost in the middle',
      (request, response) => void response.write('{"messages":', () => request.socket.destroy()),
      /stopped in the middle/,
    ],
    ['no end', endless, /without end/],
  ])('%s', (_what, misbehave, expected) => expectNone(iris, misbehave, expected));

  test.each<[string, Behaviour, RegExp]>([
    ['silence', () => {}, /does not answer/],
    ['silence after the first word', (_, response) => void response.write('{"messages":'), /stopped in the middle/],
  ])('%s', (_what, misbehave, expected) => expectNone(hasty, misbehave, expected));

  test('nobody at all', async () => {
    const nowhere = createIris({ db, url: `http://127.0.0.1:${await freePort()}` });
    await expect(find(nowhere)).rejects.toThrow(/does not answer/);
  });
});

function messagesWith(changed: object): string {
  return JSON.stringify({ messages: [{ ...complete, ...changed }] });
}

/** Until the one who asked has had enough. */
function endless(_request: IncomingMessage, response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', more);
  more();
}

describe('a service that was asked too often', () => {
  let other: Database;
  beforeAll(() => {
    other = openDatabase({ url: database.url, poolSize: 1, logger: createLogger('silent') });
  });
  afterAll(() => other.close());

  test.each<[string, Record<string, string>, number]>([
    ['says for how long', { 'retry-after': '20' }, 20_000],
    ['does not say for how long', {}, 300_000],
    ['says what nobody understands', { 'retry-after': 'soon' }, 300_000],
    ['says no time at all', { 'retry-after': '0' }, 300_000],
    ['says a year', { 'retry-after': '31536000' }, 300_000],
  ])('%s: everybody leaves it alone', async (_what, headers, ms) => {
    answers(429, { code: 429 }, headers);
    await expect(find()).rejects.toMatchObject({ retryAfterMs: ms });
    expect(await leftAloneFor()).toBeGreaterThan(ms - 10_000);
    expect(await leftAloneFor()).toBeLessThanOrEqual(ms);
    for (const anybody of [iris, createIris({ db: other, url })]) {
      expect(await anybody.find(burnt)).toEqual({ state: 'not_asked', lookAgainInMs: expect.any(Number) });
    }
    expect(asked).toHaveLength(1);
  });

  test('and does not end its answer: everybody leaves it alone all the same', async () => {
    behave = (_request, response) => void response.writeHead(429, { 'retry-after': '20' }).write('{');
    await expect(find()).rejects.toMatchObject({ retryAfterMs: 20_000 });
    expect(await leftAloneFor()).toBeGreaterThan(10_000);
  });
});

describe('the budget of all instances', () => {
  const instances: Database[] = [];
  beforeAll(() => {
    for (let count = 0; count < 4; count++) {
      instances.push(openDatabase({ url: database.url, poolSize: 5, logger: createLogger('silent') }));
    }
  });
  afterAll(async () => {
    for (const instance of instances) await instance.close();
  });

  /** Hears when each turn is that was given out, by the clock of the database. */
  function listening(to: Queryable, turns: number[]): Queryable {
    return {
      async query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>> {
        const told = text.replace('RETURNING', 'RETURNING (extract(epoch FROM next_at) * 1000)::float8 AS next_ms,');
        const result = await to.query<Row & { nextMs: number }>(told, values);
        for (const { nextMs } of result.rows) turns.push(nextMs);
        return result;
      },
    };
  }

  test('gives out no more than 35 turns in any second, however many ask at once', async () => {
    const turns: number[] = [];
    const askers = instances.map((instance) => listening(instance, turns));
    const given: (number | undefined)[] = [];
    while (turns.length <= 40) {
      given.push(...(await Promise.all(askers.flatMap((asker) => Array.from({ length: 15 }, () => takeTurn(asker))))));
    }
    expect(turns).toHaveLength(given.filter((turn) => turn !== undefined).length);
    expect(given).toContain(undefined);
    turns.sort((one, two) => one - two);
    for (const [index, turn] of turns.entries()) {
      const inItsSecond = turns.slice(index).filter((later) => later < turn + 1_000);
      expect(inItsSecond.length).toBeLessThanOrEqual(35);
    }
  });

  test('whoever comes too late for its turn does not ask, so that a process that stood still does not ask all at once', async () => {
    answers(404, {});
    let answered = 0;
    let tellThem = () => {};
    const told = new Promise<void>((resolve) => {
      tellThem = resolve;
    });
    /** Tells nobody of their turn before all have asked for one. */
    const together: Queryable = {
      async query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<QueryResult<Row>> {
        const result = await db.query<Row>(text, values);
        if (++answered === 30) tellThem();
        await told;
        return result;
      },
    };
    const patient = createIris({ db: together, url, timeoutMs: 60_000 });
    await pauseRequests(db, 1_500);
    const finds = Array.from({ length: 30 }, () => patient.find(burnt));
    await told;
    // By now those who have a turn wait for it.
    await new Promise((resolve) => setImmediate(resolve));
    // Nothing in this process goes on until the last turn is long over.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    const found = await Promise.all(finds);
    // Ten had a turn. Where everything was slow, the first may have asked before that.
    expect(asked.length).toBeLessThanOrEqual(4);
    expect(found.filter(({ state }) => state === 'not_asked')).toHaveLength(30 - asked.length);
  });
});
