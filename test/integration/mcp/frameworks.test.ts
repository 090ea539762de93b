import { fileURLToPath } from 'node:url';
import * as langchainCore from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import * as mcpAdapters from '@langchain/mcp-adapters';
import * as openai from '@openai/agents';
import * as langchain from 'langchain';
import { beforeEach, describe, expect, test } from 'vitest';
import { connectWith } from '../../support/agents.ts';
import type { TestAccount } from '../../support/client.ts';
import { codeOf, readPage, runCode, section } from '../../support/docs-code.ts';
import { useService } from '../../support/service.ts';

const service = useService();
const page = readPage('docs/agents.md');

let owner: TestAccount;
let friend: TestAccount;

beforeEach(async () => {
  owner = await service.client.register();
  friend = await service.client.register({ name: 'Grace Hopper' });
  expect((await service.client.post('/sandbox/fund', { amount: 100 }, owner.key)).status).toBe(200);
});

/** What a model wants next, which follows a script, and what it is shown. */
interface Script {
  /** The name of a tool and its arguments, or undefined at the end. */
  next(shown: {
    readonly tools: readonly string[];
    readonly results: readonly string[];
  }): readonly [string, object] | undefined;
  readonly ending: string;
  readonly tools: () => readonly string[];
  readonly results: () => readonly string[];
}

/** Pays, pays again as if it had lost the result, and reads its history. */
function payTwice(): Script {
  const payment = ['send_money', { to: friend.email, amount: 5, currency: 'USDC' }] as const;
  const turns = [payment, payment, ['list_history', { limit: '5' }]] as const;
  let last: { readonly tools: readonly string[]; readonly results: readonly string[] } = { tools: [], results: [] };
  return {
    next(shown) {
      last = shown;
      return turns[shown.results.length];
    },
    ending: 'Grace has 5 USDC more.',
    tools: () => last.tools,
    results: () => last.results,
  };
}

/** The code of the page, with the address of this service. */
const programOf = (title: string) => {
  const [code = ''] = codeOf(section(page, title), 'js');
  return code.replaceAll('http://127.0.0.1:8402', service.url);
};
const process = { env: { PAYWRIGHT_API_KEY: '' } };

/** LangChain shows the text and the structured content together. */
function shownIn(result: string) {
  const value = JSON.parse(result);
  return value.structuredContent ?? value;
}

async function expectPaidOnce(script: Script, printed: unknown[][]) {
  expect(printed).toEqual([[script.ending]]);
  expect(script.tools()).toEqual(expect.arrayContaining(['get_balance', 'send_money', 'list_history']));
  const [paid = '', refused = '', history = ''] = script.results();
  const { transferId, ...payment } = shownIn(paid);
  expect(payment).toMatchObject({ status: 'complete', amount: 5 });
  expect(refused).toContain('possible_duplicate');
  expect(refused).toContain(`notDuplicateOf: \\"${transferId}\\"`);
  expect(shownIn(history).transfers[0]).toMatchObject({ transferId, direction: 'sent', amount: 5 });
  const balance = await service.client.get('/circle/balance', owner.key);
  expect(balance.body.USDC).toBe('95');
}

test('the OpenAI Agents of the page pay, are refused and read their history', async () => {
  const script = payTwice();
  const model: openai.Model = {
    async getResponse({ tools, input }) {
      const results = (typeof input === 'string' ? [] : input).flatMap((item) =>
        item.type === 'function_call_result' ? [textOf(item.output)] : [],
      );
      const turn = script.next({ tools: tools.map(({ name }) => name), results });
      const output: openai.AgentOutputItem =
        turn === undefined
          ? {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: script.ending }],
            }
          : {
              type: 'function_call',
              callId: `call-${results.length}`,
              name: turn[0],
              arguments: JSON.stringify(turn[1]),
            };
      return { usage: new openai.Usage(), output: [output] };
    },
    getStreamedResponse() {
      throw new Error('the program does not stream');
    },
  };
  openai.setTracingDisabled(true);
  openai.setDefaultModelProvider({ getModel: () => model });
  process.env.PAYWRIGHT_API_KEY = owner.key;
  const printed = await runCode(programOf('OpenAI Agents'), {
    packages: { '@openai/agents': openai },
    names: { process },
  });
  await expectPaidOnce(script, printed);
});

/** The text of a result, however the framework wraps it. */
function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  const [part = output] = Array.isArray(output) ? output : [];
  return (part as { readonly text: string }).text;
}

class ScriptedChat extends langchainCore.BaseChatModel {
  readonly script: Script;
  #offered: readonly string[] = [];

  constructor(script: Script) {
    super({});
    this.script = script;
  }

  override _llmType() {
    return 'scripted';
  }

  override bindTools(tools: langchainCore.BindToolsInput[]) {
    this.#offered = tools.map((tool) => ('name' in tool ? String(tool['name']) : ''));
    return this;
  }

  override async _generate(messages: readonly BaseMessage[]): Promise<ChatResult> {
    const results = messages.filter((message) => ToolMessage.isInstance(message)).map(({ content }) => textOf(content));
    const turn = this.script.next({ tools: this.#offered, results });
    const message =
      turn === undefined
        ? new AIMessage(this.script.ending)
        : new AIMessage({ content: '', tool_calls: [{ id: `call-${results.length}`, name: turn[0], args: turn[1] }] });
    return { generations: [{ text: '', message }] };
  }
}

test('the LangChain agent of the page pays, is refused and reads its history', async () => {
  const script = payTwice();
  process.env.PAYWRIGHT_API_KEY = owner.key;
  const printed = await runCode(programOf('LangChain').replace(/'openai:[\w.-]+'/, 'model'), {
    packages: { langchain, '@langchain/mcp-adapters': mcpAdapters },
    names: { process, model: new ScriptedChat(script) },
  });
  await expectPaidOnce(script, printed);
});

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

describe.each(['Claude', 'Claude Desktop', 'Cursor'])('the settings for %s', (title) => {
  test('connect a client', async () => {
    const [json = ''] = codeOf(section(page, title), 'json');
    const { mcpServers } = JSON.parse(
      json
        .replace('http://127.0.0.1:8402', service.url)
        .replace(/pa_live_…|\$\{env:PAYWRIGHT_API_KEY\}/, owner.key)
        .replace('/home/ada/paywright', root),
    );
    const agent = await connectWith(mcpServers.paywright);
    const paid = await agent.call('send_money', { to: friend.handle, amount: 5, currency: 'USDC' });
    expect(paid.structuredContent).toMatchObject({ status: 'complete' });
    await agent.close();
  });
});

test('each way to connect takes at most 20 lines', () => {
  for (const title of ['Claude', 'Claude Desktop', 'Cursor', 'OpenAI Agents', 'LangChain']) {
    const text = section(page, title).trim();
    expect(codeOf(text, 'json').length + codeOf(text, 'js').length, title).toBe(1);
    expect(`## ${title}\n\n${text}`.split('\n').length, title).toBeLessThanOrEqual(20);
  }
});
