import {
  type GetPromptResult,
  type InputRequiredResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';

interface OurPrompt extends Prompt {
  readonly say: (given: Readonly<Record<string, string>>) => string;
}

const ours: readonly OurPrompt[] = [
  {
    name: 'pay_somebody',
    title: 'Pay somebody',
    description: 'Checks the recipient, the fee and the budget, and pays once.',
    arguments: [
      { name: 'recipient', description: 'A handle, an email or a phone number.', required: true },
      { name: 'amount', description: 'For example 12.50 USDC.', required: true },
      { name: 'reason', description: 'What the payment is for.' },
    ],
    say: ({ recipient, amount, reason }) =>
      `Pay ${amount} to ${recipient}${reason === undefined ? '' : `, for: ${reason}`}. First find the recipient and tell me the name. Check with check_budget that the payment is allowed. Then send the money once, and tell me the fee and the id. If approval is required, give me the link and wait for it.`,
  },
  {
    name: 'review_spending',
    title: 'Review my spending',
    description: 'Sums up a month by recipient, and shows what is unusual.',
    arguments: [{ name: 'month', description: 'YYYY-MM.', required: true }],
    say: ({ month }) =>
      `Read the resource paywright://statement/${month}. Sum up what was spent by recipient and type, with fees apart. Point out repeated payments, new recipients and the largest payments. Change nothing.`,
  },
];

interface PromptRequest {
  readonly name: string;
  readonly given: Readonly<Record<string, string>>;
  readonly mcpReq: ServerContext['mcpReq'];
}

export interface Prompts {
  list(): readonly Prompt[];
  get(request: PromptRequest): GetPromptResult | InputRequiredResult;
}

const listed: readonly Prompt[] = ours.map(({ say: _, ...prompt }) => prompt);

export const prompts: Prompts = {
  list: () => listed,
  get({ name, given }) {
    const prompt = ours.find((one) => one.name === name);
    if (prompt === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${name}`);
    const missing = prompt.arguments?.find((one) => one.required === true && given[one.name] === undefined);
    if (missing !== undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The argument ${missing.name} is missing.`);
    }
    return {
      ...(prompt.description !== undefined && { description: prompt.description }),
      messages: [{ role: 'user', content: { type: 'text', text: prompt.say(given) } }],
    };
  },
};
