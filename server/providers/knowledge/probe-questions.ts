/** What an administrator may ask an upstream to learn what it takes: each question is a small chat with one thing more. */
import { AppError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { record } from '../../protocols/shared/json.ts';
import type { ModelParameter } from '../../protocols/target.ts';

type Members = Readonly<Record<string, unknown>>;

export interface ProbeQuestion {
  readonly id: string;
  /** What stands in the body besides, or instead; objects of both are joined. */
  readonly members: Members;
  /** The answer is asked for in pieces, by the path. */
  readonly streamed?: true;
  /** Fact of a channel that says that it is not taken; absent = no row of a channel can say it. */
  readonly unsupported?: string;
  /** What rows of models call it. */
  readonly parameter?: ModelParameter;
  /** Answers that are paid. */
  readonly answers?: number;
  /** Tokens that its prompt takes at most. */
  readonly tokens?: number;
}

/** Tokens of a plain question, and of what pictures, pages and tools add, by the dearest count of the makers. */
export const plainTokens = 200;
const [pictureTokens, pageTokens, toolTokens] = [1800, 4000, 800];

const words = 'Reply with the word ok.';
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItiNKMZ1Qi+hcEKLNXzWgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELgui/wEPZWzwqQAAAABJRU5ErkJggg==';
const page =
  'JVBERi0xLjQKMSAwIG9iago8PCAvVHlwZSAvQ2F0YWxvZyAvUGFnZXMgMiAwIFIgPj4KZW5kb2JqCjIgMCBvYmoKPDwgL1R5cGUgL1BhZ2VzIC9LaWRzIFszIDAgUl0gL0NvdW50IDEgPj4KZW5kb2JqCjMgMCBvYmoKPDwgL1R5cGUgL1BhZ2UgL1BhcmVudCAyIDAgUiAvTWVkaWFCb3ggWzAgMCAyMDAgMTAwXSAvQ29udGVudHMgNCAwIFIgL1Jlc291cmNlcyA8PCAvRm9udCA8PCAvRjEgNSAwIFIgPj4gPj4gPj4KZW5kb2JqCjQgMCBvYmoKPDwgL0xlbmd0aCAzMiA+PgpzdHJlYW0KQlQgL0YxIDE4IFRmIDIwIDUwIFRkIChvaykgVGogRVQKZW5kc3RyZWFtCmVuZG9iago1IDAgb2JqCjw8IC9UeXBlIC9Gb250IC9TdWJ0eXBlIC9UeXBlMSAvQmFzZUZvbnQgL0hlbHZldGljYSA+PgplbmRvYmoKeHJlZgowIDYKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDA5IDAwMDAwIG4gCjAwMDAwMDAwNTggMDAwMDAgbiAKMDAwMDAwMDExNSAwMDAwMCBuIAowMDAwMDAwMjQxIDAwMDAwIG4gCjAwMDAwMDAzMjMgMDAwMDAgbiAKdHJhaWxlcgo8PCAvU2l6ZSA2IC9Sb290IDEgMCBSID4+CnN0YXJ0eHJlZgozOTMKJSVFT0YK';
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
/** Gemini's own form of a schema knows no `additionalProperties`. */
const openSchema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const user = { role: 'user', content: words };
const middle = [
  { role: 'user', content: 'hello' },
  { role: 'assistant', content: 'hello' },
];

const chatTool = (more: Members = {}) => ({
  type: 'function',
  function: { name: 'noop', description: 'Does nothing.', parameters: schema, ...more },
});
const chatParts = (part: Members) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: words }, part] }] });

const chat: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: { stream: true } },
  { id: 'tools', members: { tools: [chatTool()] }, tokens: toolTokens },
  {
    id: 'strict tools',
    members: { tools: [chatTool({ strict: true })] },
    unsupported: 'openai-chat:tools[].function.strict',
    tokens: toolTokens,
  },
  {
    id: 'parallel tools',
    members: { tools: [chatTool()], parallel_tool_calls: true },
    parameter: 'parallelToolCalls',
    tokens: toolTokens,
  },
  { id: 'system in the middle', members: { messages: [...middle, { role: 'system', content: 'Be brief.' }, user] } },
  {
    id: 'picture',
    members: chatParts({ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }),
    tokens: pictureTokens,
  },
  {
    id: 'PDF',
    members: chatParts({
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${page}` },
    }),
    tokens: pageTokens,
  },
  {
    id: 'JSON schema',
    members: { response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } } },
    tokens: toolTokens,
  },
  { id: 'thinking', members: { reasoning_effort: 'low' }, unsupported: 'openai-chat:reasoning_effort=low' },
  { id: 'cache', members: { prompt_cache_key: 'gateway-probe' }, unsupported: 'openai-chat:prompt_cache_key' },
  { id: 'n', members: { n: 2 }, parameter: 'candidates', answers: 2 },
  { id: 'logprobs', members: { logprobs: true } },
  {
    id: 'temperature',
    members: { temperature: 0.5 },
    unsupported: 'openai-chat:temperature',
    parameter: 'temperature',
  },
  { id: 'top_p', members: { top_p: 0.9 }, unsupported: 'openai-chat:top_p', parameter: 'topP' },
  { id: 'seed', members: { seed: 1 }, unsupported: 'openai-chat:seed', parameter: 'seed' },
  {
    id: 'presence_penalty',
    members: { presence_penalty: 0.1 },
    unsupported: 'openai-chat:presence_penalty',
    parameter: 'presencePenalty',
  },
  {
    id: 'frequency_penalty',
    members: { frequency_penalty: 0.1 },
    unsupported: 'openai-chat:frequency_penalty',
    parameter: 'frequencyPenalty',
  },
  { id: 'verbosity', members: { verbosity: 'low' }, unsupported: 'openai-chat:verbosity=low' },
  { id: 'metadata', members: { metadata: { probe: 'gateway' } }, unsupported: 'openai-chat:metadata' },
];

const responsesTool = (more: Members = {}) => ({ type: 'function', name: 'noop', parameters: schema, ...more });
const responsesParts = (part: Members) => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: words }, part] }],
});

const responses: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: { stream: true } },
  { id: 'tools', members: { tools: [responsesTool({ strict: false })] }, tokens: toolTokens },
  {
    id: 'strict tools',
    members: { tools: [responsesTool({ strict: true })] },
    unsupported: 'openai-responses:tools[].strict',
    tokens: toolTokens,
  },
  {
    id: 'custom tools',
    members: { tools: [{ type: 'custom', name: 'noop', description: 'Does nothing.' }] },
    unsupported: 'openai-responses:tools[].type=custom',
    tokens: toolTokens,
  },
  {
    id: 'parallel tools',
    members: { tools: [responsesTool({ strict: false })], parallel_tool_calls: true },
    parameter: 'parallelToolCalls',
    tokens: toolTokens,
  },
  { id: 'system in the middle', members: { input: [...middle, { role: 'developer', content: 'Be brief.' }, user] } },
  {
    id: 'picture',
    members: responsesParts({ type: 'input_image', image_url: `data:image/png;base64,${picture}` }),
    tokens: pictureTokens,
  },
  {
    id: 'PDF',
    members: responsesParts({
      type: 'input_file',
      filename: 'a.pdf',
      file_data: `data:application/pdf;base64,${page}`,
    }),
    tokens: pageTokens,
  },
  {
    id: 'JSON schema',
    members: { text: { format: { type: 'json_schema', name: 'a', strict: true, schema } } },
    tokens: toolTokens,
  },
  { id: 'thinking', members: { reasoning: { effort: 'low' } }, unsupported: 'openai-responses:reasoning.effort=low' },
  { id: 'cache', members: { prompt_cache_key: 'gateway-probe' }, unsupported: 'openai-responses:prompt_cache_key' },
  { id: 'logprobs', members: { include: ['message.output_text.logprobs'] } },
  {
    id: 'temperature',
    members: { temperature: 0.5 },
    unsupported: 'openai-responses:temperature',
    parameter: 'temperature',
  },
  { id: 'top_p', members: { top_p: 0.9 }, unsupported: 'openai-responses:top_p', parameter: 'topP' },
  { id: 'verbosity', members: { text: { verbosity: 'low' } }, unsupported: 'openai-responses:text.verbosity=low' },
  { id: 'metadata', members: { metadata: { probe: 'gateway' } }, unsupported: 'openai-responses:metadata' },
];

const messagesTool = (more: Members = {}) => ({
  name: 'noop',
  description: 'Does nothing.',
  input_schema: schema,
  ...more,
});
const messagesParts = (part: Members) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: words }, part] }],
});
const marked = { type: 'ephemeral' };

const messages: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: { stream: true } },
  { id: 'tools', members: { tools: [messagesTool()] }, tokens: toolTokens },
  {
    id: 'strict tools',
    members: { tools: [messagesTool({ strict: true })] },
    unsupported: 'anthropic-messages:tools[].strict',
    tokens: toolTokens,
  },
  {
    id: 'parallel tools',
    members: { tools: [messagesTool()], tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    parameter: 'parallelToolCalls',
    tokens: toolTokens,
  },
  { id: 'system in the middle', members: { messages: [...middle, user, { role: 'system', content: 'Be brief.' }] } },
  {
    id: 'picture',
    members: messagesParts({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } }),
    tokens: pictureTokens,
  },
  {
    id: 'PDF',
    members: messagesParts({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: page },
    }),
    tokens: pageTokens,
  },
  {
    id: 'JSON schema',
    members: { output_config: { format: { type: 'json_schema', schema } } },
    tokens: toolTokens,
  },
  {
    id: 'thinking',
    members: { output_config: { effort: 'low' } },
    unsupported: 'anthropic-messages:output_config.effort=low',
  },
  {
    id: 'cache',
    members: { messages: [{ role: 'user', content: [{ type: 'text', text: words, cache_control: marked }] }] },
    unsupported: 'anthropic-messages:messages[].content[].cache_control',
  },
  {
    id: 'cache of instructions',
    members: { system: [{ type: 'text', text: 'Be brief.', cache_control: marked }] },
    unsupported: 'anthropic-messages:system[].cache_control',
  },
  {
    id: 'cache of tools',
    members: { tools: [messagesTool({ cache_control: marked })] },
    unsupported: 'anthropic-messages:tools[].cache_control',
    tokens: toolTokens,
  },
  {
    id: 'temperature',
    members: { temperature: 0.5 },
    unsupported: 'anthropic-messages:temperature',
    parameter: 'temperature',
  },
  { id: 'top_p', members: { top_p: 0.9 }, unsupported: 'anthropic-messages:top_p', parameter: 'topP' },
  { id: 'top_k', members: { top_k: 5 }, unsupported: 'anthropic-messages:top_k', parameter: 'topK' },
];

const geminiTool = { functionDeclarations: [{ name: 'noop', description: 'Does nothing.', parameters: openSchema }] };
const geminiParts = (mimeType: string, data: string) => ({
  contents: [{ role: 'user', parts: [{ text: words }, { inlineData: { mimeType, data } }] }],
});
/** Of https://ai.google.dev/api/generate-content#generationconfig: one member, and the member that says that it is not taken. */
const geminiSampling = (member: string, value: number, parameter: ModelParameter): ProbeQuestion => ({
  id: member,
  members: { generationConfig: { [member]: value } },
  unsupported: `gemini-generate:generationConfig.${member}`,
  parameter,
});

const gemini: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: {}, streamed: true },
  { id: 'system instruction', members: { systemInstruction: { parts: [{ text: 'Be brief.' }] } } },
  { id: 'tools', members: { tools: [geminiTool] }, tokens: toolTokens },
  { id: 'picture', members: geminiParts('image/png', picture), tokens: pictureTokens },
  { id: 'PDF', members: geminiParts('application/pdf', page), tokens: pageTokens },
  {
    id: 'JSON schema',
    members: { generationConfig: { responseMimeType: 'application/json', responseSchema: openSchema } },
    tokens: toolTokens,
  },
  {
    id: 'thinking',
    members: { generationConfig: { thinkingConfig: { thinkingLevel: 'low' } } },
    unsupported: 'gemini-generate:generationConfig.thinkingConfig.thinkingLevel=low',
  },
  { id: 'n', members: { generationConfig: { candidateCount: 2 } }, parameter: 'candidates', answers: 2 },
  { id: 'logprobs', members: { generationConfig: { responseLogprobs: true } } },
  geminiSampling('temperature', 0.5, 'temperature'),
  geminiSampling('topP', 0.9, 'topP'),
  geminiSampling('topK', 5, 'topK'),
  geminiSampling('seed', 1, 'seed'),
  geminiSampling('presencePenalty', 0.1, 'presencePenalty'),
  geminiSampling('frequencyPenalty', 0.1, 'frequencyPenalty'),
];

/** Of https://docs.cohere.com/reference/chat. */
const cohereSampling = (member: string, value: number, parameter: ModelParameter): ProbeQuestion => ({
  id: member,
  members: { [member]: value },
  unsupported: `cohere-chat:${member}`,
  parameter,
});

const cohere: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: { stream: true } },
  { id: 'tools', members: { tools: [chatTool()] }, tokens: toolTokens },
  { id: 'strict tools', members: { tools: [chatTool()], strict_tools: true }, tokens: toolTokens },
  { id: 'system in the middle', members: { messages: [...middle, { role: 'system', content: 'Be brief.' }, user] } },
  {
    id: 'picture',
    members: chatParts({ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }),
    tokens: pictureTokens,
  },
  { id: 'documents', members: { documents: ['The word is ok.'] }, tokens: toolTokens },
  { id: 'JSON schema', members: { response_format: { type: 'json_object', json_schema: schema } }, tokens: toolTokens },
  { id: 'thinking', members: { thinking: { type: 'enabled' } } },
  { id: 'logprobs', members: { logprobs: true } },
  cohereSampling('temperature', 0.5, 'temperature'),
  cohereSampling('p', 0.9, 'topP'),
  cohereSampling('k', 5, 'topK'),
  cohereSampling('seed', 1, 'seed'),
  cohereSampling('frequency_penalty', 0.1, 'frequencyPenalty'),
  cohereSampling('presence_penalty', 0.1, 'presencePenalty'),
];

/** Of https://github.com/ollama/ollama/blob/main/docs/modelfile.md. */
const ollamaSampling = (member: string, value: number, parameter?: ModelParameter): ProbeQuestion => ({
  id: member,
  members: { options: { [member]: value } },
  unsupported: `ollama-chat:options.${member}`,
  ...(parameter === undefined ? {} : { parameter }),
});

const ollama: readonly ProbeQuestion[] = [
  { id: 'plain', members: {} },
  { id: 'stream', members: { stream: true } },
  { id: 'tools', members: { tools: [chatTool()] }, tokens: toolTokens },
  { id: 'system in the middle', members: { messages: [...middle, { role: 'system', content: 'Be brief.' }, user] } },
  { id: 'picture', members: { messages: [{ ...user, images: [picture] }] }, tokens: pictureTokens },
  { id: 'JSON schema', members: { format: schema }, tokens: toolTokens },
  { id: 'thinking', members: { think: true } },
  { id: 'logprobs', members: { logprobs: true } },
  ollamaSampling('temperature', 0.5, 'temperature'),
  ollamaSampling('top_p', 0.9, 'topP'),
  ollamaSampling('top_k', 5, 'topK'),
  ollamaSampling('min_p', 0.1),
  ollamaSampling('seed', 1, 'seed'),
  ollamaSampling('repeat_penalty', 1.1),
  ollamaSampling('presence_penalty', 0.1, 'presencePenalty'),
  ollamaSampling('frequency_penalty', 0.1, 'frequencyPenalty'),
];

/** How questions of a dialect are put. */
export interface ProbeForm {
  readonly dialect: ProtocolId;
  readonly path: (model: string, stream: boolean) => string;
  /** @param limit tokens of an answer. @param limitMember where the dialect has two names for it. */
  readonly body: (model: string, limit: number, limitMember: string) => Members;
  readonly questions: readonly ProbeQuestion[];
}

const forms: readonly ProbeForm[] = [
  {
    dialect: 'openai-chat',
    path: () => '/v1/chat/completions',
    body: (model, limit, limitMember) => ({ model, messages: [user], [limitMember]: limit }),
    questions: chat,
  },
  {
    dialect: 'openai-responses',
    path: () => '/v1/responses',
    body: (model, limit) => ({ model, input: words, max_output_tokens: limit, store: false }),
    questions: responses,
  },
  {
    dialect: 'anthropic-messages',
    path: () => '/v1/messages',
    body: (model, limit) => ({ model, messages: [user], max_tokens: limit }),
    questions: messages,
  },
  {
    dialect: 'gemini-generate',
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    body: (_, limit) => ({
      contents: [{ role: 'user', parts: [{ text: words }] }],
      generationConfig: { maxOutputTokens: limit },
    }),
    questions: gemini,
  },
  {
    dialect: 'cohere-chat',
    path: () => '/v2/chat',
    body: (model, limit) => ({ model, messages: [user], max_tokens: limit, stream: false }),
    questions: cohere,
  },
  {
    dialect: 'ollama-chat',
    path: () => '/api/chat',
    // It streams where it is not told otherwise.
    body: (model, limit) => ({ model, messages: [user], options: { num_predict: limit }, stream: false }),
    questions: ollama,
  },
];

/** @throws AppError params_invalid for a dialect that cannot be asked. */
export function probeFormOf(dialect: ProtocolId): ProbeForm {
  const form = forms.find((one) => one.dialect === dialect);
  if (form === undefined) throw new AppError('params_invalid', { detail: `probe: ${dialect}` });
  return form;
}

/** The body of a question, of objects that both have the members of both. */
export function probeBody(
  form: ProbeForm,
  { members }: Pick<ProbeQuestion, 'members'>,
  asked: { readonly model: string; readonly limit: number; readonly limitMember: string },
): Members {
  const plain = form.body(asked.model, asked.limit, asked.limitMember);
  const body: Record<string, unknown> = { ...plain };
  for (const [name, value] of Object.entries(members)) {
    const [before, own] = [record(plain[name]), record(value)];
    body[name] = before === null || own === null ? value : { ...before, ...own };
  }
  return body;
}
