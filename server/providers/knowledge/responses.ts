/** Providers whose answers differ from their dialect. */
import { bareName } from '../../contract/model-limits.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

export interface AnswerRow extends WithSource {
  /** Slug of the catalogue. */
  readonly provider: string;
  readonly dialect: ProtocolId;
  /** Upstream names; absent = all. */
  readonly models?: RegExp;
  /** Packages of the dialect's own maker fail at its form, or thoughts stand in front of the words, between `<think>` marks. */
  readonly kind: 'form' | 'tagged thoughts';
}

const answerRows: readonly AnswerRow[] = [
  // Calls without their type in streams.
  {
    provider: 'mistral',
    dialect: 'openai-chat',
    kind: 'form',
    source: 'https://github.com/BerriAI/litellm/issues/2645',
  },
  // Thoughts as lists of parts.
  {
    provider: 'mistral',
    dialect: 'openai-chat',
    kind: 'form',
    source: 'https://github.com/n8n-io/n8n/issues/37352',
  },
  {
    provider: 'perplexity',
    dialect: 'openai-chat',
    models: /^(?:sonar-(?:reasoning|deep-research)|r1-1776)/,
    kind: 'tagged thoughts',
    source: 'https://reference.langchain.com/python/langchain-perplexity',
  },
];

/** @param provider slug of the catalogue. @param model as the upstream calls it. */
export const hasAnswerKind = (
  { provider, dialect, model }: { readonly provider: string; readonly dialect: ProtocolId; readonly model: string },
  kind: AnswerRow['kind'],
): boolean =>
  answerRows.some(
    (row) =>
      row.provider === provider &&
      row.dialect === dialect &&
      row.kind === kind &&
      (row.models === undefined || row.models.test(bareName(model))),
  );
