import { randomUUID } from 'node:crypto';
import { Argument, type Command, Option } from 'commander';
import type { IdempotentOptions, Paywright } from '#sdk';
import { operations } from './generated/interface.ts';
import type { Field, Operation } from './operation.ts';
import { exitCodes, usage } from './outcome.ts';
import { plain, show } from './show.ts';
import type { Tools } from './tools.ts';

/** Where a command deviates from its operation: an operation without a place is a command with the name of its tool. */
interface Place {
  /** Words of the command, and the fields that are arguments. */
  readonly command: string;
  readonly arguments?: readonly string[];
  /** Other names of options, by field. */
  readonly options?: Readonly<Record<string, string>>;
  readonly show?: (answer: never) => string;
  /** Whether an answer of the service tells of a failure. */
  readonly isFailure?: (answer: never) => boolean;
  readonly group?: string;
}

export const groups = {
  money: 'Your money:',
  more: 'More of your account:',
  develop: 'For developers:',
  operate: 'Operating the service:',
} as const;

const places: Readonly<Record<string, Place>> = {
  get_balance: { command: 'balance', group: groups.money },
  send_money: { command: 'send', arguments: ['to', 'amount', 'currency'], group: groups.money },
  list_history: { command: 'history', show: showHistory, group: groups.money },
  pay_url: {
    command: 'pay',
    arguments: ['url'],
    options: { maxAmount: 'max' },
    show: showCall,
    isFailure: isSellersError,
    group: groups.money,
  },
  create_invoice: { command: 'invoice create', arguments: ['amount', 'currency', 'description'] },
  list_invoices: { command: 'invoice list' },
  pay_invoice: { command: 'invoice pay', arguments: ['id'] },
  getInvoice: { command: 'invoice show', arguments: ['id'] },
  cancelInvoice: { command: 'invoice cancel', arguments: ['id'] },
  get_account: { command: 'whoami' },
  quote_fee: { command: 'quote', arguments: ['to', 'amount', 'currency'] },
  withdraw: { command: 'withdraw', arguments: ['amount', 'currency'] },
  bridge: { command: 'bridge', arguments: ['amount', 'from', 'to'] },
  swap: { command: 'swap', arguments: ['amount', 'from', 'to'] },
  swap_quote: { command: 'swap-quote', arguments: ['amount', 'from', 'to'] },
  search_products: { command: 'search', arguments: ['website', 'query'] },
  buy_product: { command: 'buy', arguments: ['website', 'productTitle', 'amount'] },
  getApproval: { command: 'approval', arguments: ['id'] },
  getDepositAddress: { command: 'deposit-address' },
};

const parents: Readonly<Record<string, { readonly description: string; readonly group: string }>> = {
  invoice: { description: 'request money, and pay requests of others', group: groups.money },
};

/** One command for each operation of the service that people and models use. */
export function addOperationCommands(program: Command, tools: Tools): void {
  const ordered = [...operations].sort((a, b) => rank(a) - rank(b));
  for (const operation of ordered) addCommand(program, operation, tools);
}

function rank(operation: Operation): number {
  const at = Object.keys(places).indexOf(nameOf(operation));
  return at < 0 ? Number.MAX_SAFE_INTEGER : at;
}

function nameOf({ tool, id }: Operation): string {
  return tool ?? id;
}

function addCommand(program: Command, operation: Operation, tools: Tools): void {
  const { title, fields, keyed, guarded } = operation;
  const place = places[nameOf(operation)] ?? { command: nameOf(operation).replaceAll('_', '-') };
  const words = place.command.split(' ');
  const command = parentOf(program, words)
    .command(words.at(-1) ?? '')
    .description(lowerFirst(title));
  if (words.length === 1) command.helpGroup(place.group ?? groups.more);

  const byName = new Map(fields.map((field) => [field.name, field]));
  const positional = (place.arguments ?? []).map((name) => byName.get(name) as Field);
  for (const field of positional) command.addArgument(toArgument(field));
  const optional = fields.filter((field) => !positional.includes(field));
  for (const field of optional) command.addOption(toOption(field, place));
  if (keyed) {
    command.option('--idempotency-key <key>', 'the same key again gets the first outcome and does nothing twice');
  }
  command.action(async (...given: unknown[]) => {
    const options = given[positional.length] as Readonly<Record<string, string | true | undefined>>;
    const input: Record<string, unknown> = {};
    for (const [at, field] of positional.entries()) put(input, field, given[at] as string | undefined);
    for (const field of optional) put(input, field, options[attributeOf(field, place)]);
    const { client } = tools.session();
    const idempotencyKey = keyed ? ((options['idempotencyKey'] as string | undefined) ?? randomUUID()) : undefined;
    // Said before anything is sent, so that it is known after a kill, too.
    if (guarded) tools.note(`Idempotency-Key: ${idempotencyKey}`);
    const answer = await call(client, operation, input, { idempotencyKey });
    if (isQuestion(answer)) return tellQuestion(answer, tools);
    if ((place.isFailure as ((answer: unknown) => boolean) | undefined)?.(answer)) process.exitCode = exitCodes.error;
    tools.print(answer, (place.show as ((answer: unknown) => string) | undefined)?.(answer) ?? show(answer));
  });
}

function parentOf(program: Command, words: readonly string[]): Command {
  if (words.length === 1) return program;
  const [name = ''] = words;
  const { description = '', group = groups.more } = parents[name] ?? {};
  return (
    program.commands.find((one) => one.name() === name) ??
    program.command(name).description(description).helpGroup(group)
  );
}

function toArgument({ name, description = '', required, choices }: Field): Argument {
  const argument = new Argument(required ? `<${kebab(name)}>` : `[${kebab(name)}]`, plainDescription(description));
  return choices === undefined ? argument : argument.choices(choices);
}

function toOption(field: Field, place: Place): Option {
  const { type, description = '', required, choices, usual } = field;
  const long = `--${optionOf(field, place)}`;
  const help = `${plainDescription(description)}${usual === undefined ? '' : ` (default: ${usual})`}`.trim();
  const option = new Option(type === 'flag' ? long : `${long} <${valueName(field)}>`, help);
  if (choices !== undefined) option.choices(choices);
  return required ? option.makeOptionMandatory() : option;
}

function valueName({ name, type }: Field): string {
  if (type === 'json') return 'json';
  return /^notDuplicateOf$|Id$/.test(name) ? 'id' : (kebab(name).split('-').at(-1) ?? name);
}

function optionOf({ name }: Field, { options }: Place): string {
  return options?.[name] ?? kebab(name);
}

/** The name under which commander returns an option. */
function attributeOf(field: Field, place: Place): string {
  return optionOf(field, place).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function put(input: Record<string, unknown>, field: Field, given: string | true | undefined): void {
  if (given !== undefined) input[field.name] = given === true ? true : parse(field, given);
}

function parse({ name, type }: Field, text: string): unknown {
  if (type === 'text') return text;
  if (type === 'number') {
    if (text.trim() === '' || !Number.isFinite(Number(text))) throw usage(`${kebab(name)} must be a number.`);
    return Number(text);
  }
  // Text that begins like an object or list is one.
  if (type === 'text or json' && !/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw usage(`${kebab(name)} must be JSON, such as '{"name":"value"}'.`);
  }
}

type Method = (input: Readonly<Record<string, unknown>>, options: IdempotentOptions) => PromiseLike<unknown>;

async function call(
  client: Paywright,
  { method: [namespace, name] }: Operation,
  input: Readonly<Record<string, unknown>>,
  options: IdempotentOptions,
): Promise<unknown> {
  const methods = client as unknown as Readonly<Record<string, Readonly<Record<string, Method>>>>;
  return methods[namespace]?.[name]?.(input, options);
}

interface Question {
  readonly status: 'approval_required';
  readonly approvalId: string;
  readonly summary: string;
  readonly url: string;
  readonly expiresAt: string;
}

function isQuestion(answer: unknown): answer is Question {
  return (answer as { readonly status?: unknown } | undefined)?.status === 'approval_required';
}

/** Nothing was paid, so a script must not go on as if it were. */
function tellQuestion(question: Question, { print }: Tools): void {
  const { approvalId, summary, url, expiresAt } = question;
  const lines = [
    `The owner has to approve this first: ${summary}`,
    '',
    `  ${url}`,
    '',
    `Nothing was paid. The question ends at ${expiresAt}.`,
    `To wait for the decision: paywright approval ${approvalId} --wait 30`,
  ];
  process.exitCode = exitCodes.refused;
  print(question, plain(lines.join('\n'), { lines: true }));
}

interface Page<Name extends string> {
  readonly nextCursor: string | null;
  readonly items?: never;
  readonly transfers: Name extends 'transfers' ? readonly Readonly<Record<string, unknown>>[] : never;
}

function showHistory({ transfers, nextCursor }: Page<'transfers'>): string {
  const rows = transfers.map(
    ({ createdAt, direction, amount, currency, type, counterparty, description, transferId }) => ({
      at: String(createdAt).slice(0, 16).replace('T', ' '),
      amount: `${direction === 'sent' ? '-' : '+'}${amount}`,
      currency,
      type,
      with: (counterparty as { readonly handle: string } | null)?.handle ?? null,
      description,
      id: transferId,
    }),
  );
  return show({ transfers: rows, nextCursor });
}

interface CallAnswer {
  readonly status: number;
  readonly body: string;
  readonly paid: number;
}

function showCall({ status, body, paid }: CallAnswer): string {
  process.stderr.write(`The seller answered ${status}. Paid: ${paid} USDC\n`);
  return plain(body, { lines: true });
}

/** A paid answer with an error is a problem of the service; a free one is passed on. */
function isSellersError({ status }: CallAnswer): boolean {
  return status >= 400;
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Descriptions are written as Markdown. */
function plainDescription(text: string): string {
  return plain(text.replaceAll('`', ''));
}
