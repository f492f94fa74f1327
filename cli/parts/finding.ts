/** What `gateway doctor` found out about one thing. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** A command, or lines of a configuration; '' = nothing is to be done. */
  readonly fix: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, result: 'ok', detail, fix: '' });
export const wrong = (check: string, result: 'warn' | 'fail', detail: string, fix: string): Finding => ({
  check,
  result,
  detail,
  fix,
});
