/** Each member that the vendors' request types have is carried into every other dialect, listed as lost, or stands here with the reason for its silence. */
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { samplesOf } from '../support/sdk-samples.ts';
import { harmless, isHarmless, type Reasons, silentLosses } from './silent-losses.ts';

const openai = 'openai/resources';
const google = '@google/genai/dist/genai.d.ts';

type Body = Record<string, unknown>;

/** Where the samples of a type stand in requests. */
interface Root {
  readonly from: ProtocolId;
  readonly file: string;
  readonly type: string;
  readonly within?: (sample: Body) => readonly Body[];
  /** Members without which no other dialect can serve the request: it is refused with a reason. */
  readonly refused?: readonly string[];
}

const hi = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
/** Of a part one member says what it is, and the others say how it is meant. */
const kinds = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'];
const marks = ['thought', 'thoughtSignature'];

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** A result stands behind its call, and with the user: elsewhere it is told as words, which is listed. */
function withCalls(messages: readonly Message[]): readonly Message[] {
  if (!JSON.stringify(messages).includes('"tool_result"')) return messages;
  const call = { type: 'tool_use', id: 'x', name: 'x', input: { x: 1 } };
  return [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [call] },
    ...messages.map((message) => ({ ...message, role: 'user' })),
  ];
}

const roots: readonly Root[] = [
  {
    from: 'openai-chat',
    file: `${openai}/chat/completions/completions.d.ts`,
    type: 'ChatCompletionCreateParamsNonStreaming',
  },
  {
    from: 'openai-responses',
    file: `${openai}/responses/responses.d.ts`,
    type: 'ResponseCreateParamsNonStreaming',
    refused: ['previous_response_id', 'conversation'],
  },
  {
    from: 'anthropic-messages',
    file: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
    type: 'MessageCreateParamsNonStreaming',
    within: (sample) => [{ ...sample, messages: withCalls(sample.messages as readonly Message[]) }],
  },
  {
    from: 'ollama-chat',
    file: 'ollama/dist/browser.d.ts',
    type: 'ChatRequest',
    within: (sample) => [{ ...sample, messages: [{ role: 'user', content: 'hi' }] }],
  },
  {
    from: 'ollama-chat',
    file: 'ollama/dist/browser.d.ts',
    type: 'Message',
    within: ({ thinking, tool_calls, tool_name, ...rest }) => [
      { messages: [{ ...rest, role: 'user' }] },
      { messages: [{ ...rest, role: 'assistant', thinking, tool_calls }] },
      { messages: [{ ...rest, role: 'tool', tool_name }] },
    ],
  },
  {
    from: 'gemini-generate',
    file: google,
    type: 'GenerationConfig',
    within: (generationConfig) => [{ ...hi, generationConfig }],
  },
  { from: 'gemini-generate', file: google, type: 'Tool', within: (tool) => [{ ...hi, tools: [tool] }] },
  {
    from: 'gemini-generate',
    file: google,
    type: 'ToolConfig',
    within: (toolConfig) => [{ ...hi, tools: [{ functionDeclarations: [{ name: 'x' }] }], toolConfig }],
  },
  {
    from: 'gemini-generate',
    file: google,
    type: 'Part',
    within: (sample) =>
      Object.entries(sample).map(([name, value]) => {
        const part = kinds.includes(name) || marks.includes(name) ? { [name]: value } : { text: 'hi', [name]: value };
        return { contents: [{ role: 'model', parts: [part] }] };
      }),
  },
];

/** Whose loss is said by what is said of the whole, or changes nothing in the answer. */
const reasons: Readonly<Partial<Record<ProtocolId, Reasons>>> = {
  'openai-chat': [
    [
      /^(max_tokens|max_completion_tokens|functions|function_call)$/,
      'an older name and its newer one, which stand beside each other',
    ],
    [/^n$/, 'one is what everybody gives'],
    [/^response_format$/, 'text is what everybody gives'],
    [/^tool_choice$/, 'of no tool, or the default'],
    [/^web_search_options$/, 'asks for a search as every other tool of a provider does, and is listed as one'],
    [/custom\.format$/, 'free text, which is the default'],
    [/file\.(file_data|filename|file_id)$/, 'one of the ways to name a file is enough, or the file is listed'],
    [/\.input_audio$/, 'the sound is listed as a whole'],
    [/\.(tool_call_id|id)$/, 'results belong to their calls in order'],
    [/user_location\.type$/, 'there is one type'],
    [/search_context_size$/, 'the default'],
    [/json_schema\.description$/, 'what the schema is for'],
  ],
  'openai-responses': [
    [/^background$/, 'a translated answer is waited for'],
    [/^(reasoning|text\.format|truncation)$/, 'the default'],
    [/^reasoning\.generate_summary$/, 'thoughts are shown wherever there are any'],
    [/\.(id|status|phase)$/, 'names and labels that only the maker knows'],
    [/output\)\.(name|namespace)$/, 'repeats those of the call'],
    [/\(additional_tools\)\.role$/, 'they are offered like the others'],
    [/\.call_id$/, 'results belong to their calls in order'],
    [/\.logprobs$/, 'of an earlier answer'],
    [
      /\(input_file\)\.(file_data|file_url|filename|file_id)$/,
      'one of the ways to name a file is enough, or it is listed',
    ],
    [/\.(defer_loading|allowed_callers)$/, 'every tool is sent in full, and called by the model'],
    [/\.format$/, 'free text, which is the default'],
    [/user_location\.type$/, 'there is one type'],
    [/search_context_size$/, 'the default'],
    [/format\.description$/, 'what the schema is for'],
  ],
  'anthropic-messages': [
    [/^output_format$|^output_config\.format$/, 'an older name of what stands beside it'],
    [/\.(allowed_callers|max_characters|caller)$/, 'called by the model, and run by the client that knows its limits'],
    [/\.(url|data|content|file_id)$/, 'the picture, document or thought is listed as a whole'],
    [/\(text\)\.citations$/, 'sources of earlier words, known to their own provider alone'],
    [/\.content$/, 'empty'],
    [/\.(tool_use_id|id)$/, 'results belong to their calls in order'],
    [/user_location\.type$/, 'there is one type'],
  ],
  'ollama-chat': [
    [/^options\./, 'they are listed as a whole'],
    [/^format$/, 'no format that it knows'],
    [/(function|tool_calls\.\*)\.type$/, 'there is one type'],
    [/^tools\.\*\(x\)\.type$/, 'there is one type'],
    [/\.(thinking|tool_name|images)$/, 'listed as a whole, or the results belong to their calls in order'],
  ],
  'gemini-generate': [
    [/^generationConfig\.candidateCount$/, 'one is what everybody gives'],
    [
      /^generationConfig\.(responseModalities|responseSchema)$/,
      'the default, or an older name of what stands beside it',
    ],
    [/thinkingConfig\.thinking(Budget|Level)$/, 'one of the two is enough'],
    [/functionDeclarations\.\*\.parameters$/, 'an older name of what stands beside it'],
    [/allowedFunctionNames$/, 'the default'],
    [/^contents\.\*\(model\)\.parts(\.\*\..*)?$/, 'listed as a whole, or nothing is said'],
  ],
};

const dialects = Object.keys(codecs) as ProtocolId[];
const itemName = (item: unknown): string => {
  const { type, role } = (typeof item === 'object' && item !== null ? item : {}) as Body;
  const word = type ?? role;
  return typeof word === 'string' ? `*(${word})` : '*';
};
const withoutLabels = (place: string): string => place.replace(/\*\([^)]*\)/g, '*');

/** @returns places of members that go without a word, and where to. */
function silentIn({ from, within, refused = [] }: Root, sample: unknown): string[] {
  const all = within === undefined ? [sample as Body] : within(sample as Body);
  return all.flatMap((whole) => {
    const body = Object.fromEntries(Object.entries(whole).filter(([name]) => !refused.includes(name)));
    return dialects.flatMap((to) =>
      to === from ? [] : silentLosses({ from, body }, to, itemName).map((place) => `${place} → ${to}`),
    );
  });
}

test.each(roots)('$from: no member of $type is lost without a word', (root) => {
  const known = reasons[root.from] ?? [];
  const lost = new Set(samplesOf(root.file, root.type).flatMap((sample) => silentIn(root, sample)));
  const undecided = [...lost].filter((entry) => {
    const [place = ''] = entry.split(' → ');
    return !isHarmless(place, known) && !isHarmless(withoutLabels(place), harmless);
  });
  expect(undecided).toEqual([]);
});
