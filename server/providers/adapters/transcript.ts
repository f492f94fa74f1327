/** A conversation as one text, for providers that keep the history themselves and take one question. */
import type { ChatRequest } from '../../protocols/canonical.ts';
import type { Dropped } from '../../protocols/codec.ts';

const speakers = { system: 'SYSTEM', developer: 'SYSTEM', user: 'USER', assistant: 'ASSISTANT', tool: 'TOOL' } as const;

export function transcriptOf(request: ChatRequest, dropped: Dropped): string {
  if (request.tools.length > 0) dropped.push('/tools: not known to the upstream');
  const lines = request.messages.map(({ role, parts }, index) => {
    const words = parts.flatMap((part) => {
      if (part.type === 'text') return [part.text];
      dropped.push(`/messages/${index}: ${part.type} cannot be sent to the upstream`);
      return [];
    });
    return { role, text: words.join('\n') };
  });
  const [only] = lines;
  if (lines.length === 1 && only !== undefined) return only.text;
  return lines.map(({ role, text }) => `${speakers[role]}: ${text}`).join('\n\n');
}
