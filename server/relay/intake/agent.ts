/** Headers in which an agent describes its request: believed for the choice of a target, never for what is charged. */
import { type RequestClass, requestClasses } from '../../contract/virtual-models.ts';
import type { ParsedRequest } from './parsed-request.ts';

/** Source: https://code.claude.com/docs/en/llm-gateway-protocol (with CLAUDE_CODE_GATEWAY_HINT_HEADERS=1). */
const classHeader = 'x-claude-code-request-class';
const agentHeader = 'x-claude-code-agent-id';
const typeHeader = 'x-claude-code-agent-type';
/** Source: https://github.com/openai/codex/blob/main/codex-rs/core/src/client.rs */
const codexHeader = 'x-openai-subagent';

/** Codex's names of the helpers that are no agents of their own. */
const codexClasses: Readonly<Record<string, RequestClass>> = {
  compact: 'compaction',
  memory_consolidation: 'auxiliary',
};

const isClass = (text: string): text is RequestClass => (requestClasses as readonly string[]).includes(text);

export interface AgentFacts {
  readonly requestClass: RequestClass | null;
  readonly agentType: string | null;
}

export function agentOf({
  request: { headers },
  compaction,
}: Pick<ParsedRequest, 'request' | 'compaction'>): AgentFacts {
  const codex = headers.get(codexHeader)?.trim() || null;
  const agentType = headers.get(typeHeader)?.trim() || codex;
  const stated = headers.get(classHeader)?.trim() ?? '';
  if (isClass(stated)) return { requestClass: stated, agentType };
  if (compaction !== undefined) return { requestClass: 'compaction', agentType };
  if (codex !== null) return { requestClass: codexClasses[codex] ?? 'subagent', agentType };
  return { requestClass: headers.has(agentHeader) ? 'subagent' : null, agentType };
}
