/** Lines that agents write into their prompts for the hosts of their own makers, and that mean nothing anywhere else. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

export interface AgentLine extends WithSource {
  readonly dialect: ProtocolId;
  /** The whole line. */
  readonly line: RegExp;
  /** Hosts that read it. */
  readonly hosts: readonly string[];
  /** What the log row says of its absence. */
  readonly reason: string;
}

const agentLines: readonly AgentLine[] = [
  {
    // Its version suffix and its `cch` change with every request: a prompt that begins with it is never found in a cache.
    dialect: 'anthropic-messages',
    line: /^x-anthropic-billing-header:[^\n]*$/i,
    hosts: ['api.anthropic.com'],
    reason: 'x-anthropic-billing-header is for its maker alone and would empty the prompt cache',
    source: 'https://github.com/anthropics/claude-code/issues/68900',
  },
];

/** @returns lines in a prompt of this dialect that the host at `url` does not read. */
export const unreadAgentLines = (dialect: ProtocolId, url: string): readonly AgentLine[] =>
  agentLines.filter((row) => row.dialect === dialect && !row.hosts.includes(URL.parse(url)?.hostname ?? ''));
