/** A conversation that a client carries from one upstream to the next: each SDK keeps its history as it does anyway. */
import Anthropic from '@anthropic-ai/sdk';
import { type Content, GoogleGenAI, type Part, ThinkingLevel } from '@google/genai';
import OpenAI from 'openai';
import type { ProtocolId } from '../../../server/protocols/canonical.ts';
import { marks, toolSchema } from './driver.ts';
import { gatewayUrl, type World } from './world.ts';

export interface Talk {
  print(words: string): void;
  /** @returns how many calls the answer makes. */
  ask(model: string): Promise<number>;
  /** Gives the results of the last calls. */
  answer(): void;
}

export interface Talker {
  readonly protocol: ProtocolId;
  open(world: World): Talk;
}

const described = { name: marks.tool, description: marks.toolWords };

function chatTalk(world: World): Talk {
  const client = new OpenAI({
    apiKey: `sk-${world.key}`,
    baseURL: `${gatewayUrl}/v1`,
    maxRetries: 0,
    fetch: world.fetch,
  });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: marks.system }];
  let calls: readonly string[] = [];
  return {
    print: (content) => void messages.push({ role: 'user', content }),
    async ask(model) {
      const tools = [{ type: 'function' as const, function: { ...described, parameters: toolSchema } }];
      const { choices } = await client.chat.completions.create({ model, messages, tools, reasoning_effort: 'low' });
      const message = choices[0]?.message;
      if (message === undefined) throw new Error('no message');
      messages.push(message);
      calls = (message.tool_calls ?? []).map(({ id }) => id);
      return calls.length;
    },
    answer: () =>
      void messages.push(...calls.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: marks.result }))),
  };
}

function responsesTalk(world: World): Talk {
  const client = new OpenAI({
    apiKey: `sk-${world.key}`,
    baseURL: `${gatewayUrl}/v1`,
    maxRetries: 0,
    fetch: world.fetch,
  });
  const input: OpenAI.Responses.ResponseInput = [];
  let calls: readonly string[] = [];
  return {
    print: (content) => void input.push({ role: 'user', content }),
    async ask(model) {
      const response = await client.responses.create({
        model,
        input,
        instructions: marks.system,
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'low', summary: 'auto' },
        tools: [{ type: 'function', ...described, parameters: toolSchema, strict: true }],
      });
      input.push(...(response.output as OpenAI.Responses.ResponseInput));
      calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
      return calls.length;
    },
    answer: () =>
      void input.push(
        ...calls.map((call_id) => ({ type: 'function_call_output' as const, call_id, output: marks.result })),
      ),
  };
}

function messagesTalk(world: World): Talk {
  const client = new Anthropic({ apiKey: `sk-${world.key}`, baseURL: gatewayUrl, maxRetries: 0, fetch: world.fetch });
  const messages: Anthropic.MessageParam[] = [];
  let calls: readonly string[] = [];
  return {
    print: (content) => void messages.push({ role: 'user', content }),
    async ask(model) {
      const { content } = await client.messages.create({
        model,
        messages,
        max_tokens: 8000,
        system: marks.system,
        thinking: { type: 'enabled', budget_tokens: 2000 },
        tools: [{ ...described, input_schema: toolSchema as Anthropic.Tool.InputSchema }],
      });
      messages.push({ role: 'assistant', content });
      calls = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
      return calls.length;
    },
    answer: () =>
      void messages.push({
        role: 'user',
        content: calls.map((id) => ({ type: 'tool_result' as const, tool_use_id: id, content: marks.result })),
      }),
  };
}

function generateTalk(world: World): Talk {
  const client = new GoogleGenAI({
    apiKey: `sk-${world.key}`,
    httpOptions: { baseUrl: gatewayUrl, fetch: world.fetch },
  });
  const contents: Content[] = [];
  let calls: readonly Part[] = [];
  return {
    print: (text) => void contents.push({ role: 'user', parts: [{ text }] }),
    async ask(model) {
      const answer = await client.models.generateContent({
        model,
        contents,
        config: {
          systemInstruction: marks.system,
          thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
          tools: [{ functionDeclarations: [{ ...described, parametersJsonSchema: toolSchema }] }],
        },
      });
      const parts = answer.candidates?.[0]?.content?.parts ?? [];
      contents.push({ role: 'model', parts });
      calls = parts.filter(({ functionCall }) => functionCall !== undefined);
      return calls.length;
    },
    answer: () =>
      void contents.push({
        role: 'user',
        parts: calls.map(({ functionCall }) => ({
          functionResponse: {
            ...(functionCall?.id === undefined ? {} : { id: functionCall.id }),
            name: functionCall?.name ?? '',
            response: { output: marks.result },
          },
        })),
      }),
  };
}

export const talkers: readonly Talker[] = [
  { protocol: 'openai-chat', open: chatTalk },
  { protocol: 'openai-responses', open: responsesTalk },
  { protocol: 'anthropic-messages', open: messagesTalk },
  { protocol: 'gemini-generate', open: generateTalk },
];
