/** The foot of a drawer that holds a form. */
import { useTranslation } from 'react-i18next';

export interface FormFooterProps {
  /** Which form is sent. */
  readonly form: string;
  /** What sending it is called. */
  readonly action: string;
  readonly onClose: () => void;
  readonly disabled?: boolean;
  readonly 'aria-disabled'?: boolean;
}

export function FormFooter({ form, action, onClose, ...submit }: FormFooterProps) {
  const { t } = useTranslation();
  return (
    <>
      <button type="button" className="button" onClick={onClose}>
        {t('app.cancel')}
      </button>
      <button type="submit" form={form} className="button button-primary" {...submit}>
        {action}
      </button>
    </>
  );
}
