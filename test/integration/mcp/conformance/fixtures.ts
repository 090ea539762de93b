import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type ElicitRequestFormParams,
  type GetPromptResult,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  type Prompt,
  type ReadResourceResult,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { ServerParts } from '../../../../src/mcp/server.ts';

/** What the conformance suites look for by name, beside everything that we offer ourselves. */
export function withFixtures({ version, toolbox, resources, prompts }: ServerParts): ServerParts {
  return {
    version,
    toolbox: {
      list: (scopes) => [...toolbox.list(scopes), ...tools.map(({ answer: _, ...tool }) => tool)],
      async call(by, call) {
        const { name, given, mcpReq } = call;
        const tool = tools.find((one) => one.name === name);
        return tool === undefined ? toolbox.call(by, call) : tool.answer(mcpReq, given);
      },
    },
    resources: {
      list: () => [...resources.list(), ...texts.map(({ uri, mimeType }) => ({ uri, name: uri, mimeType }))],
      templates: () => [...resources.templates(), { uriTemplate: 'test://template/{id}/data', name: 'template' }],
      async read(reading) {
        return readText(reading.uri) ?? resources.read(reading);
      },
    },
    prompts: {
      list: () => [...prompts.list(), ...testPrompts.map(({ messages: _, ...prompt }) => ({ ...prompt, description }))],
      get(request) {
        const { name, given, mcpReq } = request;
        const prompt = testPrompts.find((one) => one.name === name);
        return prompt === undefined ? prompts.get(request) : prompt.messages(given, mcpReq);
      },
    },
  };
}

type McpRequest = ServerContext['mcpReq'];
type Given = Readonly<Record<string, unknown>>;
type Content = CallToolResult['content'];

interface TestTool extends Tool {
  readonly answer: (
    mcpReq: McpRequest,
    given: Given,
  ) => CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>;
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const description = 'Only for the conformance suites.';

const text = (said: string) => ({ type: 'text' as const, text: said });
const image = { type: 'image' as const, data: png, mimeType: 'image/png' };
const audio = { type: 'audio' as const, data: wav, mimeType: 'audio/wav' };
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
});

function tool(name: string, answer: TestTool['answer'], inputSchema: object = { type: 'object' }): TestTool {
  return { name, description, inputSchema: inputSchema as Tool['inputSchema'], answer };
}

const logs = (name: string) =>
  tool(name, async (mcpReq) => {
    for (const said of ['started', 'processing', 'completed']) await mcpReq.log('info', said);
    return { content: [text('Three messages were logged.')] };
  });

const returns = (name: string, ...content: Content) => tool(name, () => ({ content }));

/** Signs what goes through the client and comes back. */
const states = createRequestStateCodec<Given>({ key: crypto.getRandomValues(new Uint8Array(32)) });

async function stateOf(mcpReq: McpRequest): Promise<Given | undefined> {
  const given = mcpReq.requestState<string>();
  return given === undefined ? undefined : states.verify(given, undefined as never);
}

type Fields = ElicitRequestFormParams['requestedSchema']['properties'];

const form = (message: string, properties: Fields, required = Object.keys(properties)) =>
  inputRequired.elicit({ message, requestedSchema: { type: 'object', properties, required } });
const ask = (message: string, property: string) => form(message, { [property]: { type: 'string' } });
const confirm = form('Please confirm', { ok: { type: 'boolean' } });
const sample = (question: string) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: text(question) }], maxTokens: 100 });

/** Asks until every question has an answer. */
function asks(name: string, inputRequests: InputRequests, { signed = false } = {}): TestTool {
  return tool(name, async (mcpReq) => {
    const state = await stateOf(mcpReq);
    const given = mcpReq.inputResponses ?? {};
    const missing = Object.entries(inputRequests).filter(
      ([key, { method }]) =>
        given[key] === undefined ||
        (method === 'elicitation/create' && acceptedContent(mcpReq.inputResponses, key) === undefined),
    );
    if (missing.length === 0 && (!signed || state !== undefined)) {
      return { content: [text(`${signed ? 'state-ok: ' : ''}${JSON.stringify(given)}`)] };
    }
    return inputRequired({ inputRequests, ...(signed && { requestState: await states.mint({ name }) }) });
  });
}

const withDefaults: Fields = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};

const options = ['option1', 'option2', 'option3'];
const titled = [
  { const: 'value1', title: 'First' },
  { const: 'value2', title: 'Second' },
];
const withChoices: Fields = {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled },
  legacyEnum: { type: 'string', enum: options, enumNames: ['One', 'Two', 'Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled } },
};

const tools: readonly TestTool[] = [
  returns('test_simple_text', text('This is a simple text response for testing.')),
  returns('test_image_content', image),
  returns('test_audio_content', audio),
  returns('test_embedded_resource', embedded('test://embedded-resource')),
  returns('test_multiple_content_types', text('Multiple content types test:'), image, embedded('test://mixed')),
  returns('test_streaming_elicitation', text('No request of the server is on this stream.')),
  logs('test_logging_tool'),
  logs('test_tool_with_logging'),
  tool('test_error_handling', () => ({
    isError: true,
    content: [text('This tool intentionally returns an error for testing')],
  })),
  tool('test_tool_with_progress', async (mcpReq) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      const params = { progressToken: progressToken as string, progress, total: 100 };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return { content: [text(String(progressToken))] };
  }),
  tool('json_schema_2020_12_tool', (_, given) => ({ content: [text(JSON.stringify(given))] }), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }),
  asks('test_sampling', { answer: sample('Test prompt for sampling') }),
  asks('test_elicitation', { answer: ask('Please provide your information', 'response') }),
  asks('test_elicitation_sep1034_defaults', {
    answer: form('Please review the defaults', withDefaults, []),
  }),
  asks('test_elicitation_sep1330_enums', {
    answer: form('Please select options', withChoices, []),
  }),
  asks('test_missing_capability', { llm_answer: sample('Reply with the single word: pong') }),
  asks('test_input_required_result_elicitation', { user_name: ask('What is your name?', 'name') }),
  asks('test_input_required_result_sampling', { capital_question: sample('What is the capital of France?') }),
  asks('test_input_required_result_list_roots', { client_roots: inputRequired.listRoots() }),
  asks('test_input_required_result_request_state', { confirm: confirm }, { signed: true }),
  asks('test_input_required_result_tampered_state', { confirm: confirm }, { signed: true }),
  asks(
    'test_input_required_result_multiple_inputs',
    {
      user_name: ask('What is your name?', 'name'),
      greeting: sample('Generate a greeting'),
      client_roots: inputRequired.listRoots(),
    },
    { signed: true },
  ),
  tool('test_input_required_result_multi_round', async (mcpReq) => {
    const { round = 0, name } = (await stateOf(mcpReq)) ?? {};
    if (round === 0) {
      const requestState = await states.mint({ round: 1 });
      return inputRequired({ inputRequests: { step1: ask('Step 1: What is your name?', 'name') }, requestState });
    }
    if (round === 1) {
      const requestState = await states.mint({ round: 2, ...acceptedContent(mcpReq.inputResponses, 'step1') });
      return inputRequired({ inputRequests: { step2: ask('Step 2: Which color?', 'color') }, requestState });
    }
    return { content: [text(`${name}: ${JSON.stringify(acceptedContent(mcpReq.inputResponses, 'step2'))}`)] };
  }),
  tool('test_input_required_result_capabilities', (mcpReq) => {
    if (mcpReq.inputResponses !== undefined) return { content: [text('Thank you.')] };
    const { elicitation, sampling, roots } = capabilitiesOf(mcpReq);
    return inputRequired({
      inputRequests: {
        ...(elicitation && { user_name: ask('What is your name?', 'name') }),
        ...(sampling && { greeting: sample('Generate a short greeting') }),
        ...(roots && { client_roots: inputRequired.listRoots() }),
      },
    });
  }),
];

function capabilitiesOf({ envelope }: McpRequest): ClientCapabilities {
  return ((envelope as Given | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities;
}

const texts = [
  { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: png },
];

function readText(uri: string): ReadResourceResult | undefined {
  const found = texts.find((one) => one.uri === uri);
  if (found !== undefined) return { contents: [found] } as ReadResourceResult;
  const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? [];
  return id === undefined
    ? undefined
    : { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }] };
}

interface TestPrompt extends Prompt {
  readonly messages: (
    given: Readonly<Record<string, string>>,
    mcpReq: McpRequest,
  ) => GetPromptResult | InputRequiredResult;
}

const says = (...content: GetPromptResult['messages'][number]['content'][]): GetPromptResult => ({
  messages: content.map((one) => ({ role: 'user', content: one })),
});

const testPrompts: readonly TestPrompt[] = [
  { name: 'test_simple_prompt', messages: () => says(text('This is a simple prompt for testing.')) },
  {
    name: 'test_prompt_with_arguments',
    arguments: [
      { name: 'arg1', required: true },
      { name: 'arg2', required: true },
    ],
    messages: ({ arg1, arg2 }) => says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    arguments: [{ name: 'resourceUri', required: true }],
    messages: ({ resourceUri }) => says(embedded(String(resourceUri)), text('Please process the resource above.')),
  },
  { name: 'test_prompt_with_image', messages: () => says(image, text('Please analyze the image above.')) },
  {
    name: 'test_input_required_result_prompt',
    messages: (_, { inputResponses }) =>
      inputResponses?.['user_context'] === undefined
        ? inputRequired({ inputRequests: { user_context: ask('What context should the prompt use?', 'context') } })
        : says(text(JSON.stringify(acceptedContent(inputResponses, 'user_context')))),
  },
];
