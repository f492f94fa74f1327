/** Models whose provider cannot be asked why its cache was missed. */
import type { ProtocolId } from '../../protocols/canonical.ts';
import type { WithSource } from './row.ts';

interface DiagnosisRow extends WithSource {
  readonly dialect: ProtocolId;
  /** By their names upstream. */
  readonly models: RegExp;
}

const rows: readonly DiagnosisRow[] = [
  {
    dialect: 'openai-responses',
    models: /^(?:gpt-(?:[34]|5(?!\.[6-9]))|chatgpt|o\d)/,
    source: 'https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics',
  },
];

export const refusesDiagnosis = (dialect: ProtocolId, model: string): boolean =>
  rows.some((row) => row.dialect === dialect && row.models.test(model));
