/** Google's PaLM 2: one model, turns of two authors, answers in one piece, no word about tokens. */
import type { Message } from '../../protocols/canonical.ts';
import { geminiGenerate } from '../../protocols/gemini-generate/codec.ts';
import { textOf } from '../../protocols/shared/blocks.ts';
import { present, record, records, text } from '../../protocols/shared/json.ts';
import { simpleWire } from '../../protocols/shared/simple-wire.ts';
import type { Adapter } from '../adapter.ts';

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer';

const wire = simpleWire({
  encodeRequest(request, dropped) {
    if (request.tools.length > 0) dropped.push('/tools: not known to the upstream');
    if (request.maxTokens !== null) dropped.push('/max_tokens: not known to the upstream');
    for (const [index, { parts }] of request.messages.entries()) {
      for (const part of parts)
        if (part.type !== 'text') dropped.push(`/messages/${index}: ${part.type} cannot be sent to the upstream`);
    }
    const context = request.messages.filter(isInstruction).map(({ parts }) => textOf(parts));
    return present({
      prompt: present({
        context: context.length === 0 ? undefined : context.join('\n'),
        messages: request.messages
          .filter((message) => !isInstruction(message))
          .map(({ role, parts }) => ({ author: role === 'assistant' ? '1' : '0', content: textOf(parts) })),
      }),
      temperature: request.temperature,
      topP: request.topP,
      topK: request.topK,
      candidateCount: request.candidates > 1 ? request.candidates : undefined,
    });
  },
  frame: () => ({}),
  whole(body) {
    if (record(body.error) !== null) return { error: geminiGenerate.upstream.decodeError(0, JSON.stringify(body)) };
    const content = text(records(body.candidates)[0]?.content);
    const reason = text(records(body.filters)[0]?.reason);
    return content === null && reason !== null ? { end: 'content_filter', raw: reason } : { text: content };
  },
  decodeError: (status, body) => geminiGenerate.upstream.decodeError(status, JSON.stringify(body)),
});

export const palm: Adapter = { protocol: () => ({ wire }) };
