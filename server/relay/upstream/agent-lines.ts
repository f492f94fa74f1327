/** Takes out of a prompt what an agent wrote into it for its maker's own hosts. */
import { codecFor } from '../../protocols/registry.ts';
import { unreadAgentLines } from '../../providers/knowledge/agent-lines.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import { editMembers, outline } from '../intake/json-text.ts';

const cleaned = new WeakMap<Inquiry, Inquiry>();
const encoder = new TextEncoder();

/** @param url of the provider, or of the channel where it names one. @param dropped receives what was taken out. */
export function withoutAgentLines(inquiry: Inquiry, url: string, dropped: string[]): Inquiry {
  const { protocol, body, json } = inquiry;
  const { withoutLine } = codecFor(protocol).traits;
  if (withoutLine === undefined || json === null) return inquiry;
  for (const { line, why } of unreadAgentLines(protocol, url)) {
    const edits = withoutLine(body, line);
    if (edits === null) continue;
    dropped.push(`/system: ${why}`);
    const known = cleaned.get(inquiry);
    if (known !== undefined) return known;
    const text = editMembers(json.text, json.shape, edits);
    const shape = outline(text);
    if (!shape.ok) return inquiry;
    const clean: Inquiry = {
      ...inquiry,
      body: JSON.parse(text) as Record<string, unknown>,
      json: { bytes: encoder.encode(text), text, shape },
    };
    cleaned.set(inquiry, clean);
    return clean;
  }
  return inquiry;
}
