import type { ApiAnswer } from './api-port.ts';
import type { Json, ObjectSchema } from './schemas.ts';

/** Of every tool. A refusal also has a title and a detail, which need no schema. */
export const refusalSchema: ObjectSchema = {
  type: 'object',
  properties: { code: { type: 'string' }, nextStep: { type: 'string' } },
  required: ['code'],
};

/** A problem of the API as an agent reads it. */
export function refusalOf({ body, retryAfterSeconds }: ApiAnswer): Json {
  const { type: _, status, code, title, detail, ...members } = body;
  return { code, title, detail, nextStep: nextStep(String(code), Number(status), body, retryAfterSeconds), ...members };
}

function nextStep(code: string, status: number, body: Json, seconds: number | undefined): string {
  const wait = seconds === undefined ? 'Wait a moment' : `Wait ${seconds} seconds`;
  const step = steps[code];
  if (step !== undefined) return typeof step === 'string' ? step : step(body);
  if (status === 429 || status === 503 || code === 'outcome_unknown') {
    return `${wait}, then call the tool again with the same arguments.`;
  }
  if (status === 400 || status === 422) return 'Correct the arguments and call the tool again.';
  if (status === 401) return 'Ask the owner for a valid API key. No tool works without one.';
  if (status === 403) return 'Do not repeat it. Tell the owner what you need and why.';
  if (status === 404) return 'Check the id or the name. Do not guess another one.';
  if (status >= 500) return 'Use get_operation or list_history to see what happened before you try again.';
  return 'Read the detail. Repeat the call only when what it describes has changed.';
}

const steps: Readonly<Record<string, string | ((body: Json) => string)>> = {
  possible_duplicate: ({ duplicateOf }) => {
    const { id } = (duplicateOf ?? {}) as { readonly id?: string };
    return `If this is the same payment, you are done: get_operation shows ${id}. If it is another one, call the tool again with notDuplicateOf: "${id}".`;
  },
  insufficient_balance: 'Use get_balance. To get more money, send the owner the link of add_money.',
  recipient_not_found: 'Ask for the handle, email or phone number again, and check it with find_recipient.',
  budget_exceeded: 'Use check_budget to see what is left and when it renews, or ask the owner for a larger budget.',
  scope_required: 'Ask the owner for an API key with this scope.',
};
