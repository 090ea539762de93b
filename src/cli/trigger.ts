import { randomBytes, randomInt } from 'node:crypto';
import { Argument, type Command } from 'commander';
import { type Paywright, PaywrightError } from '#sdk';
import { CliError } from './outcome.ts';
import { connect } from './session.ts';
import { show } from './show.ts';
import type { Tools } from './tools.ts';

interface World {
  /** The account that is signed in. */
  readonly me: Paywright;
  readonly handle: string;
  /** Another account of the sandbox, with money. */
  readonly partner: () => Promise<{ readonly client: Paywright; readonly handle: string }>;
}

type Cause = (world: World) => Promise<unknown>;

/** What makes each event happen: the same calls that a program would make. */
const causes: Readonly<Record<string, Cause>> = {
  'deposit.received': ({ me }) => me.sandbox.fundAccount({ amount: '10', currency: 'USDC' }),
  'payment.received': async ({ partner, handle }) => {
    const { client } = await partner();
    return client.transfers.create({ to: handle, amount: amount(), currency: 'USDC', description: 'A test payment' });
  },
  'payment.sent': async ({ me, partner }) => {
    await needMoney(me);
    const { handle: to } = await partner();
    return me.transfers.create({ to, amount: amount(), currency: 'USDC', description: 'A test payment' });
  },
  'invoice.created': async ({ me, partner }) => invoice(me, (await partner()).handle),
  'invoice.paid': async ({ me, partner }) => {
    const { client, handle } = await partner();
    const { id } = await invoice(me, handle);
    return client.invoices.pay({ id });
  },
  'invoice.cancelled': async ({ me, partner }) => {
    const { id } = await invoice(me, (await partner()).handle);
    return me.invoices.cancel({ id });
  },
  'withdrawal.created': withdraw,
  'withdrawal.completed': withdraw,
  'swap.completed': async ({ me }) => {
    await needMoney(me);
    return me.swaps.execute({ from: 'USDC', to: 'ETH', amount: amount() });
  },
  'bridge.completed': async ({ me }) => {
    await needMoney(me);
    return me.crossChain.createTransfer({ from: 'MATIC', to: 'BASE', amount: amount() });
  },
  'purchase.paid': async ({ me }) => {
    await needMoney(me);
    const { demoSeller } = await me.sandbox.get();
    return me.payingForCalls.payForCall({ url: demoSeller.url, maxAmount: '1' });
  },
  'key.created': ({ me }) => shortKey(me),
  'key.revoked': async ({ me }) => me.accounts.deleteKey({ id: (await shortKey(me)).id }),
};

/** With random cents, because the same payment twice in ten minutes would be refused. */
function amount(): string {
  return `1.${randomInt(0, 10_000).toString().padStart(4, '0')}`;
}

async function needMoney(client: Paywright): Promise<void> {
  const { USDC } = await client.transfers.getBalance();
  if (Number(USDC) < 10) await client.sandbox.fundAccount({ amount: '100', currency: 'USDC' });
}

function invoice(client: Paywright, toHandle: string) {
  return client.invoices.create({ toHandle, amount: amount(), currency: 'USDC', description: 'A test invoice' });
}

async function withdraw({ me }: World) {
  await needMoney(me);
  const address = `0x${randomBytes(20).toString('hex')}`;
  return me.withdrawals.withdraw({ amount: amount(), currency: 'USDC', address });
}

async function shortKey(me: Paywright) {
  const { id, name, scopes } = await me.accounts.createKey({
    name: 'test key',
    scopes: ['read'],
    expiresAt: new Date(Date.now() + 60 * 60_000).toISOString(),
  });
  return { id, name, scopes };
}

export function addTriggerCommand(program: Command, { session, print }: Tools): void {
  program
    .command('trigger')
    .description('make an event happen in the sandbox, such as a payment that arrives')
    .addArgument(new Argument('[event]', 'without it, the list of events').choices(Object.keys(causes)))
    .action(async (event: string | undefined) => {
      const names = Object.keys(causes);
      if (event === undefined) return print({ events: names }, names.join('\n'));
      const { client: me, url } = session();
      await requireSandbox(me);
      const { handle } = await me.accounts.get();
      const result = await causes[event]?.({ me, handle, partner: () => openPartner(url) });
      print({ event, result }, `${event} happens now.\n\n${show(result)}`);
    });
}

async function requireSandbox(client: Paywright): Promise<void> {
  try {
    await client.sandbox.get();
  } catch (error) {
    if (!(error instanceof PaywrightError) || error.status !== 404) throw error;
    const detail = 'This service is live: events happen there only with real money. Use a sandbox to try things out.';
    throw new CliError('refused', { code: 'not_a_sandbox', detail });
  }
}

/** A new one each time: it is play money, and nothing has to be remembered. */
async function openPartner(url: string) {
  const random = randomBytes(8).toString('hex');
  const account = await connect(url, undefined).accounts.registerAgent({
    email: `partner-${random}@example.com`,
    password: randomBytes(16).toString('base64url'),
    name: 'Test partner',
  });
  const client = connect(url, account.apiKey);
  await client.sandbox.fundAccount({ amount: '10', currency: 'USDC' });
  return { client, handle: account.agentHandle };
}
