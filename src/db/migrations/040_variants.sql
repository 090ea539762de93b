-- Which variant of a product an order is for, and how many of it. A process of the release before would tell a shop without a checkout
-- that one is ordered, whatever the quantity, so none may be started again beside this one.
ALTER TABLE orders
  -- {title, options: [{name, value}]}; item_id is its id. Null for a product that is sold in one form only.
  ADD COLUMN variant  jsonb CHECK (jsonb_typeof(variant -> 'title') = 'string' AND jsonb_typeof(variant -> 'options') = 'array'),
  ADD COLUMN quantity integer NOT NULL DEFAULT 1 CHECK (quantity BETWEEN 1 AND 100);
