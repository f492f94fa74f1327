/** What an operator says of models, as rows. */
import type { ModelRule } from '../../contract/model-rules.ts';
import type { ModelRow } from './row.ts';

/** The source of a row that an operator wrote. */
export const ownSource = 'model_rules';

export const ownRows = (rules: readonly ModelRule[]): readonly ModelRow[] =>
  rules.map(({ models, source, ...said }) => ({
    ...said,
    models: new RegExp(models, 'i'),
    source: source ?? ownSource,
  }));
