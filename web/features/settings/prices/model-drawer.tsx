/** One model's price: per request or per token, as dollars or as ratios, both always shown. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CheckedForm } from '../../../components/checked-form.tsx';
import { FormFooter, TextField } from '../../../components/form.tsx';
import { Sheet } from '../../../components/overlay.tsx';
import { sameForm } from '../../../lib/dirty-form.ts';
import { errorsIn } from './draft-errors.ts';
import { PriceFields } from './price-fields.tsx';
import type { ModelRow } from './price-maps.ts';
import { useDraft } from './use-draft.ts';

export interface ModelDrawerProps {
  /** null = a new one. */
  readonly row: ModelRow | null;
  readonly names: ReadonlySet<string>;
  readonly onSave: (row: ModelRow) => void;
  readonly onClose: () => void;
}

export function ModelDrawer({ row, names, onSave, onClose }: ModelDrawerProps) {
  const { t } = useTranslation();
  const draft = useDraft(row);
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});

  const typed = [draft.name, draft.mode, draft.price, draft.ratio, draft.completion];
  const [first] = useState(typed);
  const [done, setDone] = useState(false);

  const save = () => {
    const wrong = errorsIn(draft, row?.name, { names, t });
    if (Object.keys(wrong).length > 0) return;
    setDone(true);
    onSave(draft.drafted);
  };

  return (
    <Sheet
      title={row === null ? t('prices.add') : row.name}
      dirty={!done && !sameForm(typed, first)}
      onClose={onClose}
      footer={<FormFooter form="model-price" action={t('prices.take')} onClose={onClose} />}
    >
      <CheckedForm id="model-price" onTry={() => setErrors(errorsIn(draft, row?.name, { names, t }))} onSubmit={save}>
        <TextField
          label={t('prices.name')}
          error={errors.name}
          autoComplete="off"
          value={draft.name}
          onChange={draft.setName}
        />
        <PriceFields draft={draft} errors={errors} />
      </CheckedForm>
    </Sheet>
  );
}
