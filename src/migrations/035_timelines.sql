-- The primaries of this database, so that a replica of another one is noticed.
-- serves_from: 16

-- A promoted server begins a timeline. The row of a timeline exists only in histories that contain its beginning.
CREATE TABLE timelines (
  -- Of the cluster, which a restored dump does not share.
  system   bigint NOT NULL,
  timeline text NOT NULL,
  -- Two servers that are promoted at once may choose the same number.
  mark     uuid NOT NULL DEFAULT gen_random_uuid() CONSTRAINT timelines_mark_key UNIQUE,
  PRIMARY KEY (system, timeline)
);
