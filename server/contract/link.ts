/** Links that open a document without an account. Pure. */
export const linkKinds = ['invoice', 'statement'] as const;
export type LinkKind = (typeof linkKinds)[number];

/** A link opens for so many days at most. */
export const linkDays = 30;
