/** What is known to go wrong at the time, each with whose it is: nothing else may. */
export interface Known {
  readonly cells: RegExp;
  readonly because: string;
}

const rows = 'a row of knowledge is missing';

/** Held against `target | why`. */
export const known: readonly Known[] = [
  { cells: /^groq--.*groq\/responses-members/, because: rows },
  { cells: /^groq--.*groq\/schema/, because: rows },
  { cells: /^cerebras--.*body\.(?:store|parallel_tool_calls)/, because: rows },
  { cells: /^cohere--.*cohere\/pictures/, because: rows },
  { cells: /^deepseek--.*(?:image|unknown variant `developer`)/, because: rows },
  { cells: /^(?:deepseek|ali)--.*word-json/, because: rows },
  { cells: /^(?:deepseek|moonshot)--.*forced-tool/, because: rows },
  { cells: /^ali--.*tool_choice/, because: rows },
  { cells: /^(?:together|perplexity|mistral)--.*role/, because: rows },
  { cells: /^vertex--claude.*vertex\/claude-schema/, because: rows },
  { cells: /^anthropic--.*claude\/no-schema/, because: rows },
  {
    cells: /^(?:deepseek|moonshot)--.*\/thoughts:/,
    because: 'the client cannot keep the thoughts that must come back, and nobody puts empty ones in their place',
  },
  {
    cells: /^mistral--.*tool call snapshot missing `type`/,
    because:
      "the client's own package does not take calls as this provider streams them, and the bytes pass as they are",
  },
  {
    cells: /^(?:perplexity--.*|bedrock--amazon.*)AI_NoObjectGeneratedError/,
    because: 'no schema is taken there, and the client wants one all the same',
  },
];

/** @returns those that nobody knew of. */
export const unforeseen = (cells: readonly { readonly target: string; readonly why: string }[]) =>
  cells.filter(({ target, why }) => !known.some((one) => one.cells.test(`${target} | ${why}`)));
