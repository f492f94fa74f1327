/** What the paged lists can be sorted by: the server sorts all rows, not those of one page. */

export const logSorts = [
  'created_at',
  'model_name',
  'duration',
  'prompt_tokens',
  'completion_tokens',
  'quota',
] as const;
export const userSorts = [
  'id',
  'username',
  'quota',
  'used_quota',
  'request_count',
  'aff_count',
  'aff_history_quota',
  'inviter_id',
] as const;
export const tokenSorts = ['name', 'used_quota', 'created_time'] as const;
export const redemptionSorts = ['id', 'name', 'status', 'quota', 'created_time', 'expired_time'] as const;

/** `field` = ascending, `-field` = descending. */
export type Sort<Field extends string> = Field | `-${Field}`;

export const sortsOf = <Field extends string>(fields: readonly Field[]): Sort<Field>[] =>
  fields.flatMap((field): Sort<Field>[] => [field, `-${field}`]);

/** @returns the field without its sign. */
export const fieldOf = <Field extends string>(sort: Sort<Field>): Field => sort.replace(/^-/, '') as Field;
export const isDescending = (sort: string): boolean => sort.startsWith('-');
