import { beforeAll, describe, expect, test } from 'vitest';
import { Paywright } from '#sdk';
import { freshEmail } from '../../support/client.ts';
import { codeOf, readPage, runCode, runProgram, section } from '../../support/docs-code.ts';
import { useService } from '../../support/service.ts';

const service = useService();

describe('the README', () => {
  const text = section(readPage('README.md'), 'With the SDK');
  const [code = ''] = codeOf(text, 'js');

  test('leads from a clone to a first payment in two commands and ten lines', () => {
    const commands = [...(text.split('```')[0] ?? '').matchAll(/`((?:npm|node) [^`]+)`/g)].map(
      ([, command]) => command,
    );
    expect(commands).toEqual(['npm start', 'node pay.mjs']);
    expect(code.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(10);
  });

  test('has a program that pays, once', async () => {
    const { stdout } = await runProgram(code, service.url);
    expect(stdout).toMatch(
      /transferId: 'trf_\w+',\s+status: 'complete',\s+amount: 50,\s+fee: 0\.75,\s+recipientAmount: 49\.25/,
    );
    const again = await runProgram(code, service.url).catch((error: { stderr: string }) => error);
    expect(again.stderr).toContain('possible_duplicate');
    expect(again.stderr).not.toContain('pa_live_');
  });
});

describe('the examples of packages/sdk/README.md', () => {
  const examples = codeOf(readPage('packages/sdk/README.md'), 'js');
  const [payment = '', lists = '', search = '', paidUrl = '', webhook = ''] = examples;
  let paywright: Paywright;
  let apiKey: string;
  beforeAll(async () => {
    apiKey = (await service.client.register()).key;
    paywright = new Paywright({ apiKey, baseUrl: `${service.url}/api` });
    await paywright.sandbox.fundAccount({ amount: 100 });
  });

  const runExample = (code: string, names: object = {}) => runCode(code, { names: { paywright, ...names } });

  test('there are five', () => expect(examples).toHaveLength(5));

  test('a payment', async () => {
    const email = freshEmail();
    await service.client.register({ email });
    const code = payment.replace(/^import .*$/m, '').replace('https://pay.example.com', service.url);
    await runExample(code.replace('grace@example.com', email), {
      Paywright,
      process: { env: { PAYWRIGHT_API_KEY: apiKey } },
    });
    expect((await paywright.transfers.list()).transfers[0]).toMatchObject({ direction: 'sent', amount: 5 });
  });

  test('lists', async () => {
    expect(await runExample(lists)).toEqual(expect.arrayContaining([[5, expect.objectContaining({ name: 'Ada' })]]));
  });

  test('a search', async () => {
    expect(await runExample(search)).toEqual(expect.arrayContaining([[expect.stringContaining('Mug'), '$24.00']]));
  });

  test('a paid URL', async () => {
    const ours = `${service.url}/api/nano/quote?amount=10&currency=USDC&action=transfer`;
    const [[text, paid] = []] = await runExample(paidUrl.replace('https://api.example.com/forecast?city=Lisbon', ours));
    expect([JSON.parse(String(text)).amount, paid]).toEqual([10, 0.0001]);
  });

  test('a webhook', async () => {
    const verifyWebhook = (...given: unknown[]) => given;
    const code = webhook.replace('const event =', 'const event = console.log(').replace(/;\n$/, ');\n');
    const request = { headers: { 'webhook-id': 'evt_1' } };
    const surroundings = { verifyWebhook, rawBody: '{}', request, process: { env: { WEBHOOK_SECRET: 'secret' } } };
    expect(await runExample(code, surroundings)).toEqual([[['{}', request.headers, 'secret']]]);
  });
});
