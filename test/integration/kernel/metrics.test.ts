import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { TestAccount } from '../../support/client.ts';
import { freePort } from '../../support/process.ts';
import { startService, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// A replica that is down at the start.
const service = useService({ env: { OPERATOR_PORT: '0', DATABASE_READ_URL: 'postgres://ada@127.0.0.1:9/none' } });
const file = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

async function scrape(port = service.operatorPort): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(reply.status).toBe(200);
  return reply.text();
}

/** The metrics that an answer tells. */
const toldIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '']) => name);

/** The number that stands behind a metric and its labels. */
function numberOf(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

const isAnyDown = (text: string) => /^paywright_metrics_source_up\{.*\} 0$/m.test(text);

let ada: TestAccount;
let told: string;

beforeAll(async () => {
  const { client, database } = service;
  ada = await client.register();
  const grace = await client.register();
  await client.post('/sandbox/fund', { amount: 10 }, ada.key);
  await client.post('/agent/transfer', { to: grace.handle, amount: 1, currency: 'USDC' }, ada.key);
  await client.get(`/circle/lookup?email=${grace.email}`, ada.key);
  await client.get('/circle/withdrawals/wd_none', ada.key);
  await client.get('/nothing/here', ada.key);
  await database.db.query("SELECT graphile_worker.add_job('nobody_does_this', run_at => now() - interval '1 minute')");
  const webhook = await client.post(
    '/webhooks',
    { url: 'https://agent.example.com/hook', events: ['invoice.paid'] },
    ada.key,
  );
  await database.db.query(
    `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event, body, created_at, due_at)
     SELECT 'dlv_1', account_id, id, 'evt_1', 'invoice.paid', '{}', now(), now() + interval '1 hour'
       FROM webhooks WHERE id = $1`,
    [webhook.body.id],
  );
  // What asks the chains is read by itself, and not because somebody waits for it.
  await until('reserves and gas to be read', async () => {
    told = await scrape();
    // A source that was too slow this time tells next time.
    if (isAnyDown(told)) return false;
    return toldIn(told).includes('paywright_reserves_difference') && toldIn(told).includes('paywright_gas_coins');
  });
});

describe('the metrics', () => {
  test('count requests by the pattern of their route, and never by who or what was asked for', () => {
    const requests = (route: string, method: string, status: string) =>
      numberOf(told, `paywright_http_requests_total{route="${route}",method="${method}",status="${status}"}`);
    expect(requests('/api/agent/transfer', 'POST', '2xx')).toBe(1);
    expect(requests('/api/circle/withdrawals/:txId', 'GET', '4xx')).toBe(1);
    expect(requests('none', 'GET', '4xx')).toBe(1);
    expect(numberOf(told, 'paywright_http_request_seconds_count{route="/api/agent/transfer",method="POST"}')).toBe(1);
    for (const secret of [ada.handle, ada.email, ada.key, 'wd_none', '@', 'PA-', '0x'])
      expect(told).not.toContain(secret);
  });

  test('tell of the ledger, jobs, deliveries, chains, gas, reserves and connections', () => {
    expect(numberOf(told, 'paywright_ledger_batch_postings_count')).toBeGreaterThan(0);
    expect(numberOf(told, 'paywright_jobs_ready{task="nobody_does_this"}')).toBe(1);
    expect(numberOf(told, 'paywright_jobs_oldest_ready_seconds{task="nobody_does_this"}')).toBeGreaterThanOrEqual(60);
    expect(numberOf(told, 'paywright_webhook_deliveries_pending')).toBe(1);
    expect(numberOf(told, 'paywright_webhook_deliveries_due')).toBe(0);
    expect(numberOf(told, 'paywright_sagas_stuck{saga="withdrawal"}')).toBe(0);
    expect(numberOf(told, 'paywright_chain_silent_seconds{chain="MATIC"}')).toBeGreaterThanOrEqual(0);
    expect(numberOf(told, 'paywright_gas_alarm_coins{chain="MATIC"}')).toBe(5);
    expect(numberOf(told, 'paywright_gas_coins{chain="MATIC",purpose="treasury"}')).toBeGreaterThan(5);
    expect(numberOf(told, 'paywright_reserves_difference{chain="MATIC",asset="USDC"}')).toBe(0);
    for (const pool of ['requests', 'ledger', 'jobs']) {
      expect(numberOf(told, `paywright_db_connections{pool="${pool}"}`)).toBeGreaterThan(0);
    }
    expect(isAnyDown(told)).toBe(false);
  });

  test('are told one by one in the documentation, and the dashboard asks for no other', () => {
    const names = toldIn(told);
    const documented = [...file('docs/metrics.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(documented.toSorted()).toEqual(names.toSorted());
    const asked = JSON.parse(file('docs/grafana/paywright.json'))
      .panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) => targets)
      .flatMap(({ expr }: { expr: string }) => expr.match(/\b(paywright|nodejs|process)_\w+/g) ?? []);
    expect(new Set(asked.map((name: string) => name.replace(/_bucket$/, '')))).toEqual(new Set(names));
  });

  test('are all that the alert rules ask for, and every alert is explained', () => {
    const rules = file('docs/prometheus/paywright.rules.yml');
    const asked = rules.match(/\b(?:paywright|nodejs|process)_\w+/g) ?? [];
    const names = toldIn(told);
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.filter((name) => !names.includes(name.replace(/_bucket$/, '')))).toEqual([]);
    const alerts = [...rules.matchAll(/- alert: (\w+)$/gm)].map(([, name]) => name);
    const explained = [...file('docs/alerts.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(explained).toEqual(alerts);
  });

  test('are not on the port that the world reaches', async () => {
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  });

  test('cannot be reached by what a user asks us to reach', async () => {
    const port = String(await freePort());
    const env = { OPERATOR_PORT: port, ALLOW_PRIVATE_HOSTS: `127.0.0.1:${port}` };
    const open = await startService(service.database, { env, roles: { serve: true, work: false } });
    onTestFinished(() => open.stop());
    const webhook = { url: `http://127.0.0.1:${port}/metrics`, events: ['payment.sent'] };
    const { status, body } = await open.client.post('/webhooks', webhook, ada.key);
    expect([status, body.detail]).toEqual([400, expect.stringContaining('is not allowed')]);
  });
});

test('a process that only works has the port too', async () => {
  const roles = { serve: false, work: true };
  const worker = await startService(service.database, { env: { OPERATOR_PORT: '0' }, roles });
  try {
    const text = await scrape(worker.operatorPort);
    expect(numberOf(text, 'paywright_db_connections{pool="jobs"}')).toBeGreaterThan(0);
    expect(numberOf(text, 'paywright_sagas_open{saga="withdrawal"}')).toBe(0);
    expect(toldIn(text)).not.toContain('paywright_http_requests_total');
  } finally {
    await worker.stop();
  }
});
