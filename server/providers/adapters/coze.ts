/** Coze: bots, named by the model or by the channel's `other`. Answers come as a stream only; one piece is gathered from it. */
import { number, record, text } from '../../protocols/shared/json.ts';
import { simpleWire } from '../../protocols/shared/simple-wire.ts';
import { usageOfTwo } from '../../protocols/shared/usage.ts';
import type { Adapter } from '../adapter.ts';

const errorIn = (status: number | null, body: Record<string, unknown>) => ({
  status: number(body.code) === 4100 || number(body.code) === 4101 ? 401 : status,
  type: null,
  code: number(body.code) === null ? null : String(body.code),
  message: text(body.msg) ?? text(record(body.last_error)?.msg) ?? 'the bot failed',
});

const roles = { system: 'user', developer: 'user', user: 'user', tool: 'user', assistant: 'assistant' } as const;

const wire = simpleWire({
  encodeRequest(request, dropped) {
    if (request.tools.length > 0) dropped.push('/tools: not known to the upstream');
    return {
      bot_id: request.model.replace(/^bot-/, ''),
      user_id: request.user ?? 'gateway',
      stream: true,
      auto_save_history: false,
      additional_messages: request.messages.flatMap(({ role, parts }, index) => {
        const words = parts.flatMap((part) => {
          if (part.type === 'text') return [part.text];
          dropped.push(`/messages/${index}: ${part.type} cannot be sent to the upstream`);
          return [];
        });
        return words.length === 0 ? [] : [{ role: roles[role], content_type: 'text', content: words.join('\n') }];
      }),
    };
  },
  frame(body, event) {
    if (event === 'conversation.message.delta' && body.type === 'answer') {
      return { text: text(body.content), thought: text(body.reasoning_content) };
    }
    if (event === 'conversation.chat.completed') return { usage: body.usage, end: 'stop' };
    if (event === 'conversation.chat.failed' || event === 'error') return { error: errorIn(null, body) };
    return {};
  },
  whole: () => ({}),
  readUsage: (stated) => usageOfTwo(stated, 'input_count', 'output_count'),
  decodeError: errorIn,
});

/** Refusals come with status 200 and a code. */
export const coze: Adapter = {
  protocol: () => ({ wire }),
  endpoint: ({ operation, baseUrl }) => (operation === 'chat' ? { url: `${baseUrl}/v3/chat` } : null),
  body({ other }) {
    const bot = other.trim();
    return bot === '' ? null : { whole: (body) => ({ body: { ...body, bot_id: bot } }) };
  },
};
