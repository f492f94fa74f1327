import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { generateText, jsonSchema, type LanguageModel, Output, streamText, tool } from 'ai';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figure } from '../support/figure.ts';
import { createSandbox, freePort, type Sandbox } from './support.ts';

/** Every official SDK through the executable, at a channel of every dialect. One cell = one SDK, one thing to do, one kind of upstream. */
const upstreams = ['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini-generate'] as const;

let sandbox: Sandbox;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;
/** The ai package over each of its providers. */
let models: Readonly<Record<string, (model: string) => LanguageModel>>;
const cells: string[] = [];

beforeAll(async () => {
  sandbox = createSandbox();
  const practice = await sandbox.start(['mock-upstream', '--port', String(freePort())]);
  const ok = async (args: readonly string[], input = '') => {
    const ran = await sandbox.run(args, input);
    if (ran.code !== 0) throw new Error(`${args.join(' ')}: ${ran.err}`);
    return ran.out.trim();
  };
  await ok(['setup', '--username', 'root', '--password-stdin'], 'password1\n');
  await ok(['option', 'set', 'SelfUseModeEnabled=true']);
  const key = await ok(['token', 'create', '--name', 'grid', '--quota', 'unlimited', '-q']);
  const gateway = await sandbox.start(['serve', '--port', String(freePort())]);
  const url = gateway.line.replace('URL: ', '');
  const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const login = await send('/api/user/login', { username: 'root', password: 'password1' });
  const session = { cookie: login.headers.get('set-cookie')?.split(';')[0] ?? '', 'new-api-user': '1' };
  for (const dialect of upstreams) {
    const setting = JSON.stringify({ dialect });
    const fields = { type: 199, name: dialect, key: 'sk-x', models: dialect, base_url: practice.line, setting };
    const made = (await (await send('/api/channel/', fields, session)).json()) as { success: boolean; message: string };
    if (!made.success) throw new Error(made.message);
  }
  openai = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
  const own = createOpenAI({ apiKey: key, baseURL: `${url}/v1` });
  models = {
    chat: (model) => own.chat(model),
    responses: (model) => own.responses(model),
    messages: createAnthropic({ apiKey: key, baseURL: `${url}/v1` }),
    generate: createGoogleGenerativeAI({ apiKey: key, baseURL: `${url}/v1beta` }),
  };
});
afterAll(async () => {
  await sandbox.close();
});

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
  additionalProperties: false,
} as const;
const expected = { city: 'practice', days: 1 };
const words = /practice practice/;
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

type Cell = (model: string) => Promise<void>;
const user = (content: string) => ({ role: 'user' as const, content });
const chatTool = { type: 'function' as const, function: { name: 'trip', parameters: schema } };
const responsesTool = { type: 'function' as const, name: 'trip', parameters: schema, strict: true };
const messagesTool = { name: 'trip', input_schema: { ...schema, required: [...schema.required] } };
const geminiTool = { functionDeclarations: [{ name: 'trip', parametersJsonSchema: schema }] };

async function collect<T>(stream: AsyncIterable<T>, read: (event: T) => string | undefined | null): Promise<string> {
  let text = '';
  for await (const event of stream) text += read(event) ?? '';
  return text;
}

const openaiChat: Readonly<Record<string, Cell>> = {
  async chat(model) {
    const { choices, usage } = await openai.chat.completions.create({ model, messages: [user('hi')] });
    expect(choices[0]?.message.content).toMatch(words);
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage?.completion_tokens).toBe(8);
  },
  async stream(model) {
    const stream = await openai.chat.completions.create({ model, messages: [user('hi')], stream: true });
    expect(await collect(stream, (chunk) => chunk.choices[0]?.delta.content)).toMatch(words);
  },
  async 'stream with usage'(model) {
    const options = { include_usage: true };
    const stream = await openai.chat.completions.create({
      model,
      messages: [user('hi')],
      stream: true,
      stream_options: options,
    });
    let tokens = 0;
    for await (const chunk of stream) tokens = chunk.usage?.completion_tokens ?? tokens;
    expect(tokens).toBe(8);
  },
  async 'system and developer'(model) {
    const messages = [
      { role: 'system' as const, content: 's' },
      { role: 'developer' as const, content: 'd' },
      user('hi'),
    ];
    const { choices } = await openai.chat.completions.create({ model, messages });
    expect(choices[0]?.message.content).toMatch(words);
  },
  async tools(model) {
    const messages: OpenAI.ChatCompletionMessageParam[] = [user('hi')];
    const first = await openai.chat.completions.create({ model, messages, tools: [chatTool] });
    const message = first.choices[0]?.message;
    const call = message?.tool_calls?.[0];
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual(expected);
    if (message === undefined || call === undefined) throw new Error('no call');
    messages.push(message, { role: 'tool', tool_call_id: call.id, content: 'done' });
    const second = await openai.chat.completions.create({ model, messages, tools: [chatTool] });
    expect(second.choices[0]?.message.content).toMatch(words);
  },
  async 'streamed tools'(model) {
    const stream = openai.chat.completions.stream({ model, messages: [user('hi')], tools: [chatTool] });
    const { choices } = await stream.finalChatCompletion();
    const call = choices[0]?.message.tool_calls?.[0];
    expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual(expected);
  },
  async 'structured output'(model) {
    const format = { type: 'json_schema' as const, json_schema: { name: 'trip', schema, strict: true } };
    const { choices } = await openai.chat.completions.create({
      model,
      messages: [user('hi')],
      response_format: format,
    });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual(expected);
  },
  async pictures(model) {
    const content = [
      { type: 'text' as const, text: 'what is it' },
      { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${pixel}` } },
    ];
    const { choices } = await openai.chat.completions.create({ model, messages: [{ role: 'user', content }] });
    expect(choices[0]?.message.content).toMatch(words);
  },
};

const openaiResponses: Readonly<Record<string, Cell>> = {
  async chat(model) {
    const response = await openai.responses.create({ model, input: 'hi', instructions: 'be brief' });
    expect(response.output_text).toMatch(words);
    expect(response.status).toBe('completed');
    expect(response.usage?.output_tokens).toBe(8);
  },
  async stream(model) {
    const stream = await openai.responses.create({ model, input: 'hi', stream: true });
    const types: string[] = [];
    const text = await collect(stream, (event) => {
      types.push(event.type);
      return event.type === 'response.output_text.delta' ? event.delta : '';
    });
    expect(text).toMatch(words);
    expect(types[0]).toBe('response.created');
    expect(types.at(-1)).toBe('response.completed');
  },
  async 'stream helper'(model) {
    const final = await openai.responses.stream({ model, input: 'hi' }).finalResponse();
    expect(final.output_text).toMatch(words);
  },
  async tools(model) {
    const first = await openai.responses.create({ model, input: 'hi', tools: [responsesTool] });
    const call = first.output.find((item) => item.type === 'function_call');
    expect(call?.type === 'function_call' && JSON.parse(call.arguments)).toEqual(expected);
    if (call?.type !== 'function_call') throw new Error('no call');
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'hi' },
      call,
      { type: 'function_call_output', call_id: call.call_id, output: 'done' },
    ];
    expect((await openai.responses.create({ model, input, tools: [responsesTool] })).output_text).toMatch(words);
  },
  async 'streamed tools'(model) {
    const final = await openai.responses.stream({ model, input: 'hi', tools: [responsesTool] }).finalResponse();
    const call = final.output.find((item) => item.type === 'function_call');
    expect(call?.type === 'function_call' && JSON.parse(call.arguments)).toEqual(expected);
  },
  async 'structured output'(model) {
    const text = { format: { type: 'json_schema' as const, name: 'trip', schema, strict: true } };
    expect(JSON.parse((await openai.responses.create({ model, input: 'hi', text })).output_text)).toEqual(expected);
  },
  async pictures(model) {
    const content = [
      { type: 'input_text' as const, text: 'what is it' },
      { type: 'input_image' as const, image_url: `data:image/png;base64,${pixel}`, detail: 'auto' as const },
    ];
    expect((await openai.responses.create({ model, input: [{ role: 'user', content }] })).output_text).toMatch(words);
  },
};

const textIn = (message: Anthropic.Message): string =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');

const anthropicMessages: Readonly<Record<string, Cell>> = {
  async chat(model) {
    const message = await anthropic.messages.create({
      model,
      max_tokens: 64,
      messages: [user('hi')],
      system: 'be brief',
    });
    expect(textIn(message)).toMatch(words);
    expect(message.stop_reason).toBe('end_turn');
    expect(message.usage.output_tokens).toBe(8);
  },
  async stream(model) {
    const stream = await anthropic.messages.create({ model, max_tokens: 64, messages: [user('hi')], stream: true });
    const read = (event: Anthropic.RawMessageStreamEvent) =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '';
    expect(await collect(stream, read)).toMatch(words);
  },
  async 'stream helper'(model) {
    const final = await anthropic.messages.stream({ model, max_tokens: 64, messages: [user('hi')] }).finalMessage();
    expect(textIn(final)).toMatch(words);
    expect(final.usage.output_tokens).toBe(8);
  },
  async tools(model) {
    const messages: Anthropic.MessageParam[] = [user('hi')];
    const ask = { model, max_tokens: 64, messages, tools: [messagesTool] };
    const first = await anthropic.messages.create(ask);
    const call = first.content.find((block) => block.type === 'tool_use');
    expect(first.stop_reason).toBe('tool_use');
    expect(call?.type === 'tool_use' && call.input).toEqual(expected);
    if (call?.type !== 'tool_use') throw new Error('no call');
    messages.push(
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'done' }] },
    );
    expect(textIn(await anthropic.messages.create(ask))).toMatch(words);
  },
  async 'streamed tools'(model) {
    const stream = anthropic.messages.stream({ model, max_tokens: 64, messages: [user('hi')], tools: [messagesTool] });
    const call = (await stream.finalMessage()).content.find((block) => block.type === 'tool_use');
    expect(call?.type === 'tool_use' && call.input).toEqual(expected);
  },
  async 'structured output'(model) {
    const output_config = { format: { type: 'json_schema' as const, schema: { ...schema } } };
    const ask = { model, max_tokens: 64, messages: [user('hi')], output_config };
    expect(JSON.parse(textIn(await anthropic.messages.create(ask)))).toEqual(expected);
  },
  async pictures(model) {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: pixel };
    const content = [
      { type: 'text' as const, text: 'what is it' },
      { type: 'image' as const, source },
    ];
    const message = await anthropic.messages.create({ model, max_tokens: 64, messages: [{ role: 'user', content }] });
    expect(textIn(message)).toMatch(words);
  },
  async 'counting tokens'(model) {
    expect(
      (await anthropic.messages.countTokens({ model, messages: [user('hello there')] })).input_tokens,
    ).toBeGreaterThan(1);
  },
};

const geminiGenerate: Readonly<Record<string, Cell>> = {
  async chat(model) {
    const answer = await google.models.generateContent({
      model,
      contents: 'hi',
      config: { systemInstruction: 'be brief' },
    });
    expect(answer.text).toMatch(words);
    expect(answer.usageMetadata?.candidatesTokenCount).toBe(8);
  },
  async stream(model) {
    const stream = await google.models.generateContentStream({ model, contents: 'hi' });
    expect(await collect(stream, (chunk) => chunk.text)).toMatch(words);
  },
  async conversation(model) {
    const chat = google.chats.create({ model });
    expect((await chat.sendMessage({ message: 'hi' })).text).toMatch(words);
    expect((await chat.sendMessage({ message: 'and again' })).text).toMatch(words);
  },
  async tools(model) {
    const ask = { model, config: { tools: [geminiTool] } };
    const first = await google.models.generateContent({ ...ask, contents: 'hi' });
    const [call] = first.functionCalls ?? [];
    expect(call?.args).toEqual(expected);
    const contents = [
      { role: 'user', parts: [{ text: 'hi' }] },
      first.candidates?.[0]?.content ?? {},
      { role: 'user', parts: [{ functionResponse: { name: 'trip', response: { output: 'done' } } }] },
    ];
    expect((await google.models.generateContent({ ...ask, contents })).text).toMatch(words);
  },
  async 'streamed tools'(model) {
    const stream = await google.models.generateContentStream({
      model,
      contents: 'hi',
      config: { tools: [geminiTool] },
    });
    let args: unknown;
    for await (const chunk of stream) args = chunk.functionCalls?.[0]?.args ?? args;
    expect(args).toEqual(expected);
  },
  async 'structured output'(model) {
    const config = { responseMimeType: 'application/json', responseJsonSchema: schema };
    expect(JSON.parse((await google.models.generateContent({ model, contents: 'hi', config })).text ?? '')).toEqual(
      expected,
    );
  },
  async pictures(model) {
    const contents = [{ text: 'what is it' }, { inlineData: { mimeType: 'image/png', data: pixel } }];
    expect((await google.models.generateContent({ model, contents })).text).toMatch(words);
  },
  async 'counting tokens'(model) {
    expect((await google.models.countTokens({ model, contents: 'hello there' })).totalTokens).toBeGreaterThan(1);
  },
  async embeddings(model) {
    const answer = await google.models.embedContent({ model, contents: ['a', 'bb'] });
    expect(answer.embeddings?.map((one) => one.values?.length)).toEqual([8, 8]);
  },
};

type Maker = (model: string) => LanguageModel;
const trip = tool({
  description: 'a trip',
  inputSchema: jsonSchema<typeof expected>({ ...schema, required: [...schema.required] }),
});

const aiPackage: Readonly<Record<string, (make: Maker) => Cell>> = {
  text: (make) => async (model) => {
    const { text, usage } = await generateText({ model: make(model), prompt: 'hi', maxRetries: 0 });
    expect(text).toMatch(words);
    expect(usage.outputTokens).toBe(8);
  },
  stream: (make) => async (model) => {
    const { textStream } = streamText({ model: make(model), prompt: 'hi', maxRetries: 0 });
    expect(await collect(textStream, (chunk) => chunk)).toMatch(words);
  },
  tools: (make) => async (model) => {
    const { toolCalls } = await generateText({ model: make(model), prompt: 'hi', tools: { trip }, maxRetries: 0 });
    expect(toolCalls.map(({ input }) => input)).toEqual([expected]);
  },
  object: (make) => async (model) => {
    const output = Output.object({
      schema: jsonSchema<typeof expected>({ ...schema, required: [...schema.required] }),
    });
    const result = await generateText({ model: make(model), prompt: 'hi', output, maxRetries: 0 });
    expect(result.output).toEqual(expected);
  },
};
const aiCells: Readonly<Record<string, Cell>> = Object.fromEntries(
  ['chat', 'responses', 'messages', 'generate'].flatMap((provider) =>
    Object.entries(aiPackage).map(([name, cell]) => [
      `${provider} ${name}`,
      (model: string) => cell(models[provider] ?? (() => model))(model),
    ]),
  ),
);

/** Calls that have no dialect to be told in. */
const others: Readonly<Record<string, Cell>> = {
  async embeddings(model) {
    const { data } = await openai.embeddings.create({ model, input: ['a', 'bb'], encoding_format: 'float' });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
  },
  async 'pictures made'(model) {
    const { data } = await openai.images.generate({ model, prompt: 'a cat', n: 2 });
    expect(data?.map(({ b64_json }) => b64_json)).toEqual([pixel, pixel]);
  },
  async 'pictures edited'(model) {
    const image = await toFile(Buffer.from(pixel, 'base64'), 'a.png', { type: 'image/png' });
    expect((await openai.images.edit({ model, prompt: 'a hat', image })).data).toHaveLength(1);
  },
  async 'words spoken'(model) {
    const answer = await openai.audio.speech.create({ model, input: 'hello', voice: 'alloy' });
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 4)).toBe('RIFF');
  },
  async 'words heard'(model) {
    const file = await toFile(Buffer.alloc(1000), 'a.wav');
    expect((await openai.audio.transcriptions.create({ model, file })).text).toBe('practice');
  },
  async 'words translated'(model) {
    const file = await toFile(Buffer.alloc(1000), 'a.wav');
    expect((await openai.audio.translations.create({ model, file })).text).toBe('practice');
  },
  async moderation(model) {
    expect((await openai.moderations.create({ model, input: 'hi' })).results).toHaveLength(1);
  },
  async 'models of three kinds'(model) {
    expect((await openai.models.list()).data.map(({ id }) => id)).toContain(model);
    expect((await anthropic.models.list()).data.map(({ id }) => id)).toContain(model);
    const names: string[] = [];
    for await (const { name } of await google.models.list()) names.push(name ?? '');
    expect(names).toContain(`models/${model}`);
  },
};

const groups = {
  'openai chat': openaiChat,
  'openai responses': openaiResponses,
  anthropic: anthropicMessages,
  google: geminiGenerate,
  'ai package': aiCells,
  others,
};
const grid = Object.entries(groups).flatMap(([sdk, list]) =>
  Object.entries(list).flatMap(([name, cell]) => upstreams.map((upstream) => [sdk, name, upstream, cell] as const)),
);

test.each(grid)('%s · %s · %s', async (sdk, name, upstream, cell) => {
  await cell(upstream);
  cells.push(`${sdk} · ${name} · ${upstream}`);
});

test('the grid is as large as promised', () => {
  figure(`${cells.length} cells with official SDKs`);
  expect(grid.length).toBeGreaterThanOrEqual(150);
  expect(cells).toHaveLength(grid.length);
});
