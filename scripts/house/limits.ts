/** How large a function may be, and which may be larger for a reason. */
export const limits = { lines: 80, branches: 20, parameters: 4 } as const;

/** `file name` -> why. */
export const exceptions: Readonly<Record<string, string>> = {
  'server/contract/errors/row.ts row': 'the rows of a table: one line an error, in the order of its head',
  'server/providers/catalogue.ts compatible': 'the rows of a table: one line a provider, in the order of its head',
  'server/providers/catalogue-others.ts other':
    'the rows of a table: one block a provider, told by number and names first',
};
