/** How large a function may be, and which may be larger for a reason. */
export const limits = { lines: 80, branches: 20, parameters: 4 } as const;

/** `file name` -> why. */
export const exceptions: Readonly<Record<string, string>> = {};
