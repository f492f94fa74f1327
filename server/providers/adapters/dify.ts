/** Dify: chat applications that keep their history themselves. */
import { number, record, text } from '../../protocols/shared/json.ts';
import { simpleWire } from '../../protocols/shared/simple-wire.ts';
import { usageOfTwo } from '../../protocols/shared/usage.ts';
import type { Adapter } from '../adapter.ts';
import { transcriptOf } from './transcript.ts';

const usageIn = (body: Record<string, unknown>): unknown => record(body.metadata)?.usage;

const errorIn = (status: number | null, body: Record<string, unknown>) => ({
  status: number(body.status) ?? status,
  type: null,
  code: text(body.code),
  message: text(body.message) ?? 'the application failed',
});

const wire = simpleWire({
  encodeRequest: (request, dropped) => ({
    inputs: {},
    query: transcriptOf(request, dropped),
    response_mode: request.stream ? 'streaming' : 'blocking',
    user: request.user ?? 'gateway',
    auto_generate_name: false,
  }),
  frame(body) {
    switch (body.event) {
      case 'message':
      case 'agent_message':
        return { text: text(body.answer) };
      case 'agent_thought':
        return { thought: text(body.thought) };
      case 'message_end':
        return { usage: usageIn(body), end: 'stop' };
      case 'error':
        return { error: errorIn(null, body) };
      default:
        return {};
    }
  },
  whole: (body) => ({ text: text(body.answer), usage: usageIn(body) }),
  readUsage: (stated) => usageOfTwo(stated, 'prompt_tokens', 'completion_tokens'),
  decodeError: errorIn,
});

export const dify: Adapter = { protocol: () => ({ wire }) };
