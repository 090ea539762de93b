import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Paywright, PaywrightError } from '#sdk';
import { parseUrl } from '../kernel/text/parse-url.ts';
import { signatureHeaders } from '../webhooks/sign-webhook.ts';
import { openPlace, secretOf } from './listen-state.ts';
import { CliError, usage } from './outcome.ts';
import { plain, toJson } from './show.ts';
import type { Tools } from './tools.ts';

interface ListenOptions {
  readonly forwardTo: string;
  readonly fromNow?: true;
}

export function addListenCommand(program: Command, tools: Tools): void {
  program
    .command('listen')
    .description('deliver the events of the account to a server on this machine, signed like webhooks')
    .requiredOption('--forward-to <url>', 'where the events are sent, such as http://127.0.0.1:3000/webhooks')
    .option('--from-now', 'skip what happened since the last time')
    .addHelpText('after', about)
    .action((options: ListenOptions) => listen(options, tools));
}

const about = `
Each event is sent until the server answers 2xx, in order: the next one waits. After a stop or a kill, the command continues
behind the last event that the server has acknowledged. An acknowledgement that a kill cuts off is asked for again: the server gets that
event twice, with the same webhook-id. With --json, every line is a JSON value.
`;

interface Event {
  readonly id: string;
  readonly type: string;
  readonly createdAt: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The feed is asked at most this often, because every request counts against the rate limit of the account. */
const paceMs = 1_500;
const waitSeconds = 30;
const longestPauseMs = 30_000;
/** Where the service asks for it. */
const longestWaitMs = 60 * 60_000;
/** Of the local server. */
const patienceMs = 30_000;

async function listen({ forwardTo, fromNow }: ListenOptions, tools: Tools): Promise<void> {
  const target = receiverUrl(forwardTo);
  const { client, url } = tools.session();
  const { handle } = await client.accounts.get();
  const whose = { env: tools.env, warn: tools.warn, url, handle };
  const secret = secretOf(whose);
  const place = openPlace(whose, target);
  const stop = stopOnSignal();
  try {
    const known = fromNow ? undefined : place.cursor();
    const cursor = known ?? (await client.webhooks.openEventFeed()).cursor;
    if (known === undefined) place.store(cursor);
    tell(tools, { listening: { handle, forwardTo: target, secret } }, [
      `Events of ${handle} go to ${target}. Press Ctrl-C to stop.`,
      `They are signed with ${secret}`,
    ]);
    for await (const event of eventsAfter(cursor, { client, stop, tools })) {
      if (!(await deliver(event, { target, secret, stop, tools }))) break;
      place.store(event.id);
    }
  } finally {
    place.release();
  }
}

function receiverUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined) throw usage(`${JSON.stringify(text)} is not a URL such as http://127.0.0.1:3000/webhooks`);
  const { protocol, username, password, href } = url;
  if (!/^https?:$/.test(protocol)) throw usage('--forward-to must begin with http:// or https://');
  if (username || password) throw usage('--forward-to cannot have a user or password.');
  return href;
}

/** The first signal ends the command once a delivery on its way is answered, so that it is not made twice. The second one kills. */
function stopOnSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stop.abort());
  }
  return stop.signal;
}

interface Work {
  readonly stop: AbortSignal;
  readonly tools: Tools;
}

async function* eventsAfter(
  start: string,
  { client, stop, tools }: Work & { readonly client: Paywright },
): AsyncGenerator<Event> {
  let after = start;
  let failures = 0;
  while (!stop.aborted) {
    const askedAt = performance.now();
    try {
      const page = await client.webhooks.listEvents({ after, wait: String(waitSeconds) }, { signal: stop });
      failures = 0;
      for (const event of page.events) yield event as Event;
      after = page.cursor;
      if (!page.more) await pause(paceMs - (performance.now() - askedAt), stop);
    } catch (error) {
      if (stop.aborted) return;
      if (!(error instanceof PaywrightError)) throw error;
      if (error.code === 'events_gone') throw missed(error);
      if (!mayPass(error)) throw error;
      failures++;
      tell(tools, { waiting: { code: error.code, detail: error.message } }, [`Trying again: ${error.message}`]);
      // A proxy may ask for no pause at all, or for more than a timer can wait.
      await pause(Math.min(longestWaitMs, Math.max(pauseAfter(failures), error.retryAfterMs ?? 0)), stop);
    }
  }
}

function mayPass({ status, code }: PaywrightError): boolean {
  return status === 0 || status === 429 || status >= 500 || code === 'unexpected_response';
}

function missed(error: PaywrightError): CliError {
  const detail =
    'Events were missed: they are kept for three days, and this command has not run for longer. Look at "paywright history", then run it again with --from-now.';
  return new CliError('refused', { ...error, code: error.code, detail });
}

interface Delivery extends Work {
  readonly target: string;
  readonly secret: string;
}

/**
 * Until the server answers 2xx: an event that is given up would be lost, and one that is put aside overtaken. Returns false if the command
 * ends first.
 */
async function deliver(event: Event, { target, secret, stop, tools }: Delivery): Promise<boolean> {
  const { id, type } = event;
  const body = JSON.stringify(event);
  for (let attempt = 1; !stop.aborted; attempt++) {
    const result = await send(target, { id, body, secret });
    const isDone = result.status !== null && result.status >= 200 && result.status < 300;
    const outcome = result.status === null ? result.error : `answered ${result.status}`;
    tell(tools, { event: id, type, attempt, ...result, delivered: isDone }, [
      `${id}  ${plain(type).padEnd(20)}  ${isDone ? result.status : `${outcome}; trying again`}`,
    ]);
    if (isDone) return true;
    await pause(pauseAfter(attempt), stop);
  }
  return false;
}

interface Message {
  readonly id: string;
  readonly body: string;
  readonly secret: string;
}

interface Result {
  readonly status: number | null;
  readonly error?: string;
}

async function send(target: string, { id, body, secret }: Message): Promise<Result> {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Paywright',
        'webhook-id': id,
        'webhook-timestamp': String(timestampSeconds),
        ...signatureHeaders(secret, { id, timestampSeconds, body }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.body?.cancel().catch(() => {});
    return { status: response.status };
  } catch (error) {
    const { message, cause } = error as Error;
    return { status: null, error: (cause as NodeJS.ErrnoException | undefined)?.code ?? message };
  }
}

function pauseAfter(failures: number): number {
  return Math.min(longestPauseMs, 500 * 2 ** Math.min(failures - 1, 10));
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal: stop }).catch(() => {});
}

/** A line of JSON, or lines for people. */
function tell({ isJson }: Tools, value: unknown, lines: readonly string[]): void {
  const text = isJson() ? toJson(value) : lines.map((line) => plain(line)).join('\n');
  process.stdout.write(`${text}\n`);
}
