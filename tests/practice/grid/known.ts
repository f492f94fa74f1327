/** What is known to go wrong at the time, each with whose it is: nothing else may. */
export interface Known {
  readonly cells: RegExp;
  readonly because: string;
}

const rows = 'nobody keeps pictures from who takes none';

/** Held against `target | why`. */
export const known: readonly Known[] = [
  { cells: /^cohere--.*cohere\/pictures/, because: rows },
  { cells: /^deepseek--.*unknown variant `i/, because: rows },
  { cells: /^deepseek--.*word-json/, because: 'JSON without a schema wants its name in the prompt' },
  { cells: /^ali--.*tool_choice/, because: 'tools are forced by name alone there' },
  {
    cells: /^(?:deepseek|moonshot)--.*\/thoughts:/,
    because: 'the client cannot keep the thoughts that must come back, and nobody puts empty ones in their place',
  },
  {
    cells: /^mistral--.*(?:tool call snapshot missing `type`|AI_TypeValidationError|Invalid JSON response)/,
    because:
      "the client's own package does not take calls and thoughts as this provider tells them, and the bytes pass as they are",
  },
  {
    cells: /^(?:perplexity--|bedrock--amazon|vertex--claude|anthropic--claude-3).*AI_NoObjectGeneratedError/,
    because: 'no schema is taken there, and the client wants one all the same',
  },
];

/** @returns those that nobody knew of. */
export const unforeseen = (cells: readonly { readonly target: string; readonly why: string }[]) =>
  cells.filter(({ target, why }) => !known.some((one) => one.cells.test(`${target} | ${why}`)));
