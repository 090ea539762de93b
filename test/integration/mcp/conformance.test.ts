// @module-tag thorough
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { features } from '../../../src/app/features.ts';
import type { ListedFeature } from '../../../src/app/listed-feature.ts';
import type { Feature } from '../../../src/kernel/feature.ts';
import { addMcpEndpoint } from '../../../src/mcp/endpoint.ts';
import { type McpParts, serverPartsOf } from '../../../src/mcp/feature.ts';
import type { ServerParts } from '../../../src/mcp/server.ts';
import type { TestAccount } from '../../support/client.ts';
import { connect, handClient } from '../../support/oauth.ts';
import { openOwnerBrowser } from '../../support/owner.ts';
import { freePort } from '../../support/process.ts';
import { type Service, startService, useStartedDatabase } from '../../support/service.ts';
import { type KeyProxy, startKeyProxy } from './conformance/add-key.ts';
import { expectedOf, explain, readExpectations, scenarioOf, verdictsOn } from './conformance/expectations.ts';
import { withFixtures } from './conformance/fixtures.ts';
import { runSuite, type SuiteRun } from './conformance/run-suite.ts';

const require = createRequire(import.meta.url);
const older = require.resolve('mcp-conformance-2025/dist/index.js');
const newer = require.resolve('mcp-conformance-2026/dist/index.js');

/** How many scenarios each suite has for servers. The older one runs all of them with the newest version that it knows. */
const runs = [
  { suite: '0.1.16', program: older, args: ['--suite', 'all'], count: 32, file: '2025.yaml' },
  ...[
    { version: '2025-03-26', count: 1 },
    { version: '2025-06-18', count: 27 },
    { version: '2025-11-25', count: 33 },
  ].map(({ version, count }) => ({
    suite: `0.2.0-alpha.12, protocol ${version}`,
    program: newer,
    args: ['--suite', 'all', '--spec-version', version],
    count,
    file: '2025.yaml',
  })),
  {
    suite: '0.2.0-alpha.12, protocol 2026-07-28',
    program: newer,
    // With the extensions, which no version requires.
    args: ['--requirements', '2026-07-28'],
    count: 50,
    file: '2026-07-28.yaml',
  },
];

const authorization = { suite: '0.2.0-alpha.12, authorization server', count: 2, file: '2026-07-28.yaml' };

const database = useStartedDatabase();
let service: Service;
let proxy: KeyProxy;
const ran = new Map<string, SuiteRun>();

/** The endpoint as it is, with fixtures beside our own tools, resources and prompts. */
const mcp: Feature<{ pages: McpParts }> = {
  name: 'mcp',
  pages(app, parts) {
    let built: ServerParts | undefined;
    addMcpEndpoint(app, {
      ...parts,
      serverParts() {
        built ??= withFixtures(serverPartsOf(parts));
        return built;
      },
    });
  },
};

beforeAll(async () => {
  const port = await freePort();
  proxy = await startKeyProxy(port);
  service = await startService(database, {
    env: { PORT: String(port), PUBLIC_URL: proxy.url },
    features: features.map((feature): ListedFeature => (feature.name === mcp.name ? mcp : feature)),
  });
  const owner = await service.client.register();
  ran.set(authorization.suite, await runForAuthorization(owner));
  proxy.key = owner.key;
  for (const { suite, program, args } of runs) {
    ran.set(suite, await runSuite({ program, args: ['server', '--url', `${proxy.url}/mcp`, ...args] }));
  }
});
afterAll(async () => {
  await service?.stop();
  await proxy?.close();
});

/** A client of the suite connects to the account of the owner. */
async function runForAuthorization(owner: TestAccount): Promise<SuiteRun> {
  const port = String(await freePort());
  const client = handClient(proxy.url, { redirectUri: `http://127.0.0.1:${port}/callback` });
  const { body } = await client.register();
  const browser = openOwnerBrowser(proxy.url);
  await browser.signIn(owner);
  const of = ['--url', proxy.url, '--client-id', body.client_id, '--resource', `${proxy.url}/mcp`, '--port', port];
  return runSuite({
    program: newer,
    args: ['authorization', ...of],
    open: async (url) => fetch(await connect(browser, new URL(url).searchParams.toString())),
  });
}

const runOf = (suite: string): SuiteRun => ran.get(suite) ?? { output: 'It did not run.', scenarios: new Map() };
const expectationsIn = (file: string) =>
  readExpectations(fileURLToPath(new URL(`conformance/${file}`, import.meta.url)));

describe.each([...runs, authorization])('the conformance suite $suite', ({ suite, count, file }) => {
  test('runs every scenario that it has', () => {
    const { output, scenarios } = runOf(suite);
    expect(scenarios.size, output).toBe(count);
  });

  test(`passes, except for what is in ${file}`, async () => {
    const run = runOf(suite);
    const expectations = await expectationsIn(file);
    expect(verdictsOn(run, expectations), explain(run)).toEqual(expectedOf(run, expectations));
  });
});

test.each(['2025.yaml', '2026-07-28.yaml'])(
  '%s has a reason for each scenario, and only scenarios that run',
  async (file) => {
    const { fails, skipped } = await expectationsIn(file);
    const known = new Set(
      runs.filter((run) => run.file === file).flatMap(({ suite }) => [...runOf(suite).scenarios.keys()]),
    );
    for (const { name, reason } of [...fails, ...skipped]) {
      expect(known, name).toContain(scenarioOf(name));
      expect(reason, name).toMatch(/^[A-Z].+\.$/);
    }
  },
);
